//! The workloads: probes, applications, tools.
