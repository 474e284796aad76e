//! Uploads (`client/file_xfer.cpp`, `sched/file_upload_handler.cpp`): data behind a head that has the
//! result's certificate. A file name has one spelling, and is accepted only for a result that was sent.

use crate::digest::md5_hex;
use crate::markup::{escape, first};

use super::keys::KeyPair;
use super::line::ResultId;
use super::reply::certificate_text;
use super::request::upload_elements;
use crate::collatz::LONGEST_FILE;

/// The longest upload with its head, in bytes.
pub const LONGEST: u64 = LONGEST_FILE + (8 << 10);

/// A host's request to upload a result's output, or to learn how much of it has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadRequest {
    /// How many bytes of a file are stored?
    Size(ResultId),
    /// Store this file.
    Put(ResultId, Vec<u8>),
}

/// Why an upload is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadRefusal {
    /// The host may try again.
    Temporary(String),
    /// The host must not try again.
    Permanent(String),
}

/// Parses a request, and checks its certificate, which `key` has signed.
///
/// # Errors
/// Where the certificate does not hold, or the request is malformed.
pub fn parse_upload(body: &[u8], key: &KeyPair) -> Result<UploadRequest, UploadRefusal> {
    const DATA: &[u8] = b"<data>\n";
    let permanent = |why: &str| UploadRefusal::Permanent(why.to_string());
    let result = |name: &str| {
        ResultId::from_output_name(name).ok_or_else(|| permanent("there is no file of that name"))
    };
    let at = body.windows(DATA.len()).position(|window| window == DATA);
    let head = String::from_utf8_lossy(&body[..at.unwrap_or(body.len())]);
    let Some(at) = at else {
        let request = first(&head, "data_server_request").ok_or_else(|| permanent("this is no request"))?;
        let name =
            first(request.body, "get_file_size").ok_or_else(|| permanent("there is no command"))?.text();
        return result(&name).map(UploadRequest::Size);
    };
    let (mut name, mut signature, mut md5) = (String::new(), String::new(), String::new());
    let (mut most, mut bytes, mut offset) = (None, None, 0_u64);
    for element in upload_elements(&head) {
        match element.name {
            "file_info" => {
                for inner in element.elements() {
                    match inner.name {
                        "name" => name = inner.text(),
                        "xml_signature" => signature = inner.text(),
                        "max_nbytes" => most = inner.value::<u64>(),
                        _ => {}
                    }
                }
            }
            "nbytes" => bytes = element.value::<u64>(),
            "md5_cksum" => md5 = element.text(),
            "offset" => offset = element.value().ok_or_else(|| permanent("the offset is no number"))?,
            _ => {}
        }
    }
    let result = result(&name)?;
    let (most, bytes) = most.zip(bytes).ok_or_else(|| permanent("the size is missing"))?;
    if !key.has_signed(certificate_text(&name, most).as_bytes(), &signature) {
        return Err(permanent("the certificate does not hold"));
    }
    if bytes > most {
        return Err(permanent("the file is larger than it may be"));
    }
    let data = &body[at + DATA.len()..];
    // Files are small: an incomplete one is sent again from its beginning.
    if offset != 0 || data.len() as u64 != bytes {
        return Err(UploadRefusal::Temporary("the file is incomplete".into()));
    }
    if !md5.is_empty() && md5 != md5_hex(data) {
        return Err(UploadRefusal::Temporary("the file is damaged".into()));
    }
    Ok(UploadRequest::Put(result, data.to_vec()))
}

/// The reply: the status, and the size if one was requested.
pub fn upload_reply(outcome: &Result<Option<u64>, UploadRefusal>) -> String {
    let inner = match outcome {
        Ok(None) => "<status>0</status>\n".to_string(),
        Ok(Some(size)) => format!("<status>0</status>\n<file_size>{size}</file_size>\n"),
        Err(UploadRefusal::Temporary(why)) => {
            format!("<status>1</status>\n<message>{}</message>\n", escape(why))
        }
        Err(UploadRefusal::Permanent(why)) => {
            format!("<status>-1</status>\n<message>{}</message>\n", escape(why))
        }
    };
    format!("<data_server_reply>\n{inner}</data_server_reply>\n")
}

#[cfg(test)]
mod tests;
