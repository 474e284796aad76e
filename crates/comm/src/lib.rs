//! Transports, virtual clocks, ranks and collectives.
