//! The runner: agents, journal, resume, stopping rule, progress.
