//! Where nodes come from: this machine, or a virtual cluster on it.
