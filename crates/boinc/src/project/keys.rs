//! The project's two key pairs: one signs programs, the other signs the certificates that allow hosts to
//! upload.
//!
//! Format (`lib/crypt.h`, `lib/crypt.cpp`; BOINC's page on code signing): RSA of 1,024 bits, the most that
//! the client can hold. A signature is PKCS #1 v1.5 over the 32 hexadecimal digits of an MD5, without a hash
//! identifier. A public key is written as its bits, then modulus and exponent, 128 bytes each, in hexadecimal
//! digits, 32 bytes a line, and a dot; a signature likewise, without the bits.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::digest::md5_hex;
use crosstalk_core::Fault;
use crosstalk_host::regular;
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, LineEnding};
use rsa::rand_core::OsRng;
use rsa::traits::PublicKeyParts;
use rsa::{Pkcs1v15Sign, RsaPrivateKey};

/// Bits of a modulus.
const BITS: usize = 1024;
/// Bytes of a modulus, of an exponent as it is written, and of a signature.
const BYTES: usize = BITS / 8;

/// The longest key file, in bytes.
const LONGEST: u64 = 64 << 10;

/// A pair of RSA keys, with which a project signs programs and uploads.
#[derive(Debug)]
pub struct KeyPair(RsaPrivateKey);

impl KeyPair {
    /// Reads the pair from a file, or makes one and writes it.
    ///
    /// # Errors
    /// Where the file cannot be read or written, or holds something else.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let fault = |what: String| Fault::environment(what).at(path.display().to_string());
        if path.exists() {
            let pair = regular::text(path, LONGEST)
                .map_err(|e| e.to_string())
                .and_then(|text| RsaPrivateKey::from_pkcs8_pem(&text).map_err(|e| e.to_string()))
                .map_err(|e| {
                    fault(format!("expected a private key, found something else: {e}"))
                        .remedy("restore the key's latest copy, or name another directory")
                })?;
            return if pair.size() == BYTES {
                Ok(KeyPair(pair))
            } else {
                Err(fault(format!("expected a key of {BITS} bits, found one of {}", pair.size() * 8)))
            };
        }
        let pair =
            RsaPrivateKey::new(&mut OsRng, BITS).map_err(|e| fault(format!("cannot make a key: {e}")))?;
        let text = pair.to_pkcs8_pem(LineEnding::LF).map_err(|e| fault(e.to_string()))?;
        // Whole or not at all, and on disk before anything is signed.
        let beside = path.with_extension("new");
        let write = || {
            let mut options = fs::OpenOptions::new();
            let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, path)
        };
        write().map_err(|e| fault(format!("cannot keep a key: {e}")))?;
        Ok(KeyPair(pair))
    }

    /// The public key, as hosts read it.
    pub fn public(&self) -> String {
        let mut bytes = padded(&self.0.n().to_bytes_be());
        bytes.extend(padded(&self.0.e().to_bytes_be()));
        format!("{BITS}\n{}", digits(&bytes))
    }

    /// Signs a text.
    ///
    /// # Errors
    /// Where signing fails.
    pub fn sign(&self, text: &[u8]) -> Result<String, Fault> {
        self.sign_md5(&md5_hex(text))
    }

    /// Signs a text by its MD5, in hexadecimal digits.
    ///
    /// # Errors
    /// Where signing fails.
    pub fn sign_md5(&self, md5: &str) -> Result<String, Fault> {
        let signed = self.0.sign(Pkcs1v15Sign::new_unprefixed(), md5.as_bytes());
        signed.map(|bytes| digits(&bytes)).map_err(|e| Fault::environment(format!("cannot sign: {e}")))
    }

    /// Whether this is the key's signature of the text.
    pub fn has_signed(&self, text: &[u8], signature: &str) -> bool {
        let Some(signature) = bytes(signature) else { return false };
        let md5 = md5_hex(text);
        self.0.to_public_key().verify(Pkcs1v15Sign::new_unprefixed(), md5.as_bytes(), &signature).is_ok()
    }
}

/// Pads a number with leading zeros to the bytes of a modulus.
fn padded(number: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; BYTES.saturating_sub(number.len())];
    bytes.extend_from_slice(number);
    bytes
}

/// Bytes in hexadecimal digits, 32 bytes a line, and a dot.
fn digits(bytes: &[u8]) -> String {
    let lines =
        bytes.chunks(32).map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    lines.map(|line| line + "\n").collect::<String>() + ".\n"
}

/// The reverse of [`digits`]; `None` where it is no signature.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    let hex: Vec<u8> =
        text.strip_suffix('.').unwrap_or(text).bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| (byte as char).to_digit(16);
    if hex.len() != 2 * BYTES {
        return None;
    }
    hex.chunks(2).map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)).collect()
}

#[cfg(test)]
mod tests;
