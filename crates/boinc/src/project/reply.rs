//! The scheduler's replies (`client/scheduler_op.cpp`, `SCHEDULER_REPLY::parse`; `client/client_types.cpp`).
//! The client parses them tag by tag, so each tag has a line of its own.

use std::fmt::Write;

use crate::digest::md5_hex;
use crate::markup::escape;
use crosstalk_core::Fault;

use super::keys::KeyPair;
use super::line::{ResultId, Version};
use super::settings::Settings;
use crate::app::{INPUT, OUTPUT};
use crate::collatz::LONGEST_FILE;

/// The name of the project's application.
pub const APPLICATION_NAME: &str = "collatz";
/// The name of the project, for people.
pub const PROJECT_NAME: &str = "Crosstalk";

/// The speed of a processor that the client assumes, in operations per second. It only serves to express
/// times as numbers of operations.
const SPEED: f64 = 1e9;

/// How many times longer than expected a work unit may take before its host cancels it: hosts may run a
/// hundred at a time on each processor, and pause them for the owner's work.
const PATIENCE: f64 = 1e5;

/// A reply of the scheduler to a host, while it is written.
pub struct Reply<'a> {
    text: String,
    /// The project's address, with a trailing slash.
    url: &'a str,
    settings: &'a Settings,
}

impl<'a> Reply<'a> {
    /// An empty reply. The host waits `wait` seconds before its next request; where there is more to come, it
    /// waits at most `again` seconds.
    pub fn new(url: &'a str, settings: &'a Settings, wait: f64, again: Option<f64>) -> Self {
        let mut text = format!(
            "<scheduler_reply>\n<scheduler_version>720</scheduler_version>\n<project_name>{PROJECT_NAME}</project_name>\n\
             <master_url>{url}</master_url>\n<user_name>owner</user_name>\n<dont_use_dcf/>\n\
             <request_delay>{wait:.3}</request_delay>\n"
        );
        if let Some(again) = again {
            line(&mut text, "next_rpc_delay", &format!("{again:.3}"));
        }
        Reply { text, url, settings }
    }

    /// Adds a message for the client's user.
    pub fn add_message(&mut self, urgent: bool, message: &str) {
        let priority = if urgent { "notice" } else { "low" };
        // Writing to a string does not fail, here and below.
        let _ = writeln!(self.text, "<message priority=\"{priority}\">{}</message>", escape(message));
    }

    /// Adds the number of a new host.
    pub fn add_host_id(&mut self, host: u64) {
        line(&mut self.text, "hostid", &host.to_string());
    }

    /// Adds the public key for programs.
    pub fn add_code_key(&mut self, key: &KeyPair) {
        let _ = writeln!(self.text, "<code_sign_key>\n{}</code_sign_key>", key.public());
    }

    /// Adds that the report of a result was received.
    pub fn add_acknowledgement(&mut self, name: &str) {
        let _ = writeln!(self.text, "<result_ack>\n<name>{}</name>\n</result_ack>", escape(name));
    }

    /// Adds that a result is cancelled, even if it has started.
    pub fn add_abort(&mut self, name: &str) {
        let _ = writeln!(self.text, "<result_abort>\n<name>{}</name>\n</result_abort>", escape(name));
    }

    /// Adds that a result is cancelled unless it has started.
    pub fn add_abort_if_not_started(&mut self, result: ResultId) {
        let tag = "result_abort_if_not_started";
        let _ = writeln!(self.text, "<{tag}>\n<name>{result}</name>\n</{tag}>");
    }

    /// Adds the application, with its version for a platform.
    pub fn add_application(&mut self, version: &Version, platform: &str) {
        let Version { number, file, bytes, md5, signature } = version;
        let (url, platform) = (self.url, escape(platform));
        let _ = write!(
            self.text,
            "<app>\n<name>{APPLICATION_NAME}</name>\n<user_friendly_name>Collatz</user_friendly_name>\n\
             <fraction_done_exact/>\n</app>\n\
             <file_info>\n<name>{file}</name>\n<url>{url}download/{file}</url>\n<executable/>\n\
             <nbytes>{bytes}</nbytes>\n<md5_cksum>{md5}</md5_cksum>\n<file_signature>\n{signature}</file_signature>\n\
             </file_info>\n\
             <app_version>\n<app_name>{APPLICATION_NAME}</app_name>\n<version_num>{number}</version_num>\n\
             <platform>{platform}</platform>\n<avg_ncpus>1</avg_ncpus>\n<flops>{SPEED}</flops>\n\
             <api_version>7.20.0</api_version>\n<cmdline>boinc-app</cmdline>\n\
             <file_ref>\n<file_name>{file}</file_name>\n<main_program/>\n</file_ref>\n</app_version>\n"
        );
    }

    /// A result: its work unit, its files, and its deadline.
    ///
    /// # Errors
    /// Where its certificate cannot be signed.
    pub fn add_result(
        &mut self,
        result: ResultId,
        deadline: f64,
        version: &Version,
        platform: &str,
        key: &KeyPair,
    ) -> Result<(), Fault> {
        let Some(span) = self.settings.range_of_unit(result.unit) else { return Ok(()) };
        let input = span.to_file();
        let (unit, output, platform, url) =
            (result.unit_name(), result.output_name(), escape(platform), self.url);
        let (bytes, md5) = (input.len(), md5_hex(input.as_bytes()));
        let certificate = key.sign(certificate_text(&output, LONGEST_FILE).as_bytes())?;
        let (estimate, bound) = (self.settings.task * SPEED, self.settings.task.max(1.0) * SPEED * PATIENCE);
        let number = version.number;
        let _ = write!(
            self.text,
            "<file_info>\n<name>{unit}.in</name>\n<url>{url}download/{unit}.in</url>\n<nbytes>{bytes}</nbytes>\n\
             <md5_cksum>{md5}</md5_cksum>\n</file_info>\n\
             <file_info>\n<name>{output}</name>\n<max_nbytes>{LONGEST_FILE}</max_nbytes>\n\
             <upload_url>{url}file_upload_handler</upload_url>\n<xml_signature>\n{certificate}</xml_signature>\n\
             </file_info>\n\
             <workunit>\n<name>{unit}</name>\n<app_name>{APPLICATION_NAME}</app_name>\n<rsc_fpops_est>{estimate}</rsc_fpops_est>\n\
             <rsc_fpops_bound>{bound}</rsc_fpops_bound>\n<rsc_memory_bound>100000000</rsc_memory_bound>\n\
             <rsc_disk_bound>100000000</rsc_disk_bound>\n\
             <file_ref>\n<file_name>{unit}.in</file_name>\n<open_name>{INPUT}</open_name>\n</file_ref>\n</workunit>\n\
             <result>\n<name>{result}</name>\n<wu_name>{unit}</wu_name>\n<platform>{platform}</platform>\n\
             <version_num>{number}</version_num>\n<plan_class></plan_class>\n\
             <report_deadline>{deadline:.3}</report_deadline>\n<report_immediately/>\n\
             <file_ref>\n<file_name>{output}</file_name>\n<open_name>{OUTPUT}</open_name>\n</file_ref>\n</result>\n"
        );
        Ok(())
    }

    /// The text of the finished reply.
    pub fn into_text(self) -> String {
        self.text + "</scheduler_reply>\n"
    }
}

/// The text of the certificate that allows an upload (`sched/file_upload_handler.cpp`).
pub fn certificate_text(name: &str, most: u64) -> String {
    format!("<name>{name}</name><max_nbytes>{most}</max_nbytes>")
}

fn line(text: &mut String, tag: &str, value: &str) {
    let _ = writeln!(text, "<{tag}>{value}</{tag}>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::first;

    #[test]
    fn a_reply_holds_what_was_put_in_and_its_certificate_holds() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let key = KeyPair::open(&folder.path().join("key")).expect("is made");
        let version = Version {
            number: 2,
            file: "crosstalk_ab".into(),
            bytes: 7,
            md5: "00".into(),
            signature: "11\n.\n".into(),
        };
        let settings = Settings { task: 2.0, ..Settings::default() };
        let result = ResultId { unit: 5, instance: 1 };
        let mut reply = Reply::new("http://127.0.0.1:1/project/", &settings, 1.5, Some(60.0));
        reply.add_host_id(4);
        reply.add_message(true, "a < b");
        reply.add_acknowledgement("c_1_0");
        reply.add_application(&version, "x86_64-pc-linux-gnu");
        reply.add_result(result, 99.5, &version, "x86_64-pc-linux-gnu", &key).expect("signs");
        let text = reply.into_text();
        let whole = first(&text, "scheduler_reply").expect("is one");
        let names: Vec<_> = whole.elements().map(|element| element.name).collect();
        assert_eq!(
            names[6..],
            [
                "next_rpc_delay",
                "hostid",
                "message",
                "result_ack",
                "app",
                "file_info",
                "app_version",
                "file_info",
                "file_info",
                "workunit",
                "result"
            ]
        );
        let output = whole.elements().filter(|e| e.name == "file_info").nth(2).expect("is there");
        let part = |name| first(output.body, name).expect("is there").text();
        assert_eq!(part("name"), "c_5_1_out");
        let signed = certificate_text("c_5_1_out", part("max_nbytes").parse().expect("is a number"));
        assert!(key.has_signed(signed.as_bytes(), &part("xml_signature")));
        assert!(
            !key.has_signed(certificate_text("c_5_2_out", LONGEST_FILE).as_bytes(), &part("xml_signature"))
        );
    }
}
