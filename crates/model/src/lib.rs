//! Collective algorithms as steps, LogGOPS costs, fitting.
