//! One file for each verb.

pub mod agent;
pub mod boinc;
pub mod clean;
pub mod completions;
pub mod data;
pub mod docs;
pub mod doctor;
pub mod exec;
pub mod groups;
pub mod guard;
pub mod list;
pub mod man;
pub mod path;
pub mod plan;
pub mod probe;
pub mod replay;
pub mod report;
pub mod resume;
pub mod run;
pub mod show;
pub mod trace;
pub mod user_job;
pub mod users;
