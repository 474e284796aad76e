//! A profile as it is requested, and whether that is consistent.

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::profile::Profile;

/// The least memory of a request or a limit, in bytes: no program runs in less.
const LEAST_MEMORY: u64 = 1 << 20;
/// Processors of a request: from a hundredth to more than a kernel may have (`NR_CPUS`).
const PROCESSORS: std::ops::RangeInclusive<f64> = 0.01..=8192.0;

/// The name of a profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProfileKind {
    /// The request is the limit.
    Guaranteed,
    /// The request is protected; the group may use more.
    #[default]
    Burstable,
    /// Nothing is protected.
    BestEffort,
}

/// A profile as it is requested.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProfileRequest {
    /// Which one.
    pub kind: ProfileKind,
    /// Memory that is protected.
    pub memory: Option<Bytes>,
    /// Memory that is never exceeded.
    pub limit: Option<Bytes>,
    /// Processors.
    pub cpus: Option<f64>,
}

impl From<Profile> for ProfileRequest {
    fn from(profile: Profile) -> Self {
        let (kind, memory, limit) = match profile {
            Profile::Guaranteed { memory, .. } => (ProfileKind::Guaranteed, Some(memory), None),
            Profile::Burstable { memory, limit, .. } => (ProfileKind::Burstable, memory, limit),
            Profile::BestEffort { limit } => (ProfileKind::BestEffort, None, limit),
        };
        ProfileRequest { kind, memory, limit, cpus: profile.cpus() }
    }
}

impl ProfileRequest {
    /// With another profile: what that has no place for goes.
    #[must_use]
    pub fn of_kind(self, kind: ProfileKind) -> Self {
        match kind {
            ProfileKind::Guaranteed => ProfileRequest { kind, limit: None, ..self },
            ProfileKind::Burstable => ProfileRequest { kind, ..self },
            ProfileKind::BestEffort => ProfileRequest { kind, memory: None, cpus: None, ..self },
        }
    }
}

/// How a request is written: that is how faults name its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// Options of a command: `--memory-limit`.
    Options,
    /// Keys of a file: `memory_limit`.
    Keys,
}

impl Spelling {
    /// The name of a part, which is `key` in a file.
    pub fn part(self, key: &str) -> String {
        match self {
            Spelling::Options => format!("--{}", key.replace('_', "-")),
            Spelling::Keys => key.into(),
        }
    }

    /// A part with its value, as it is to be written.
    fn written(self, key: &str, value: &str) -> String {
        match self {
            Spelling::Options if value.contains(' ') => format!("{} '{value}'", self.part(key)),
            Spelling::Options => format!("{} {value}", self.part(key)),
            Spelling::Keys => format!("{key} = \"{value}\""),
        }
    }
}

impl TryFrom<ProfileRequest> for Profile {
    type Error = Fault;

    fn try_from(request: ProfileRequest) -> Result<Self, Fault> {
        request.profile(Spelling::Options)
    }
}

impl ProfileRequest {
    /// The profile, if the request is consistent.
    ///
    /// # Errors
    /// A usage fault at the part that is wrong, as it is written.
    pub fn profile(self, spelling: Spelling) -> Result<Profile, Fault> {
        let ProfileRequest { kind, memory, limit, cpus } = self;
        let burstable = || format!("leave it out, or use {}", spelling.written("profile", "burstable"));
        for (bytes, key) in [(memory, "memory"), (limit, "memory_limit")] {
            if bytes.is_some_and(|bytes| bytes.0 < LEAST_MEMORY) {
                let fault = Fault::usage("expected at least 1 MiB: no program runs in less");
                return Err(fault.at(spelling.part(key)));
            }
        }
        if let Some(cpus) = cpus.filter(|cpus| !PROCESSORS.contains(cpus)) {
            let (least, most) = (PROCESSORS.start(), PROCESSORS.end());
            let fault = Fault::usage(format!("expected {least} to {most} processors, found {cpus}"));
            return Err(fault.at(spelling.part("cpus")));
        }
        match kind {
            ProfileKind::Guaranteed => {
                let lacking = || {
                    let fault = Fault::usage("a guaranteed group needs the memory that it is guaranteed");
                    let place = match spelling {
                        Spelling::Options => spelling.written("profile", "guaranteed"),
                        Spelling::Keys => spelling.part("profile"),
                    };
                    fault.at(place).remedy(format!("add for example {}", spelling.written("memory", "2 GiB")))
                };
                if limit.is_some() {
                    let memory = spelling.part("memory");
                    return Err(Fault::usage(format!("a guaranteed group's limit is its {memory}"))
                        .at(spelling.part("memory_limit"))
                        .remedy(burstable()));
                }
                Ok(Profile::Guaranteed { memory: memory.ok_or_else(lacking)?, cpus })
            }
            ProfileKind::Burstable => {
                if let (Some(memory), Some(limit)) = (memory, limit)
                    && limit < memory
                {
                    let (limit, memory) = (human(limit.0 as f64, "B"), human(memory.0 as f64, "B"));
                    let part = spelling.part("memory");
                    return Err(Fault::usage(format!("expected at least {part} {memory}, found {limit}"))
                        .at(spelling.part("memory_limit")));
                }
                Ok(Profile::Burstable { memory, limit, cpus })
            }
            ProfileKind::BestEffort => {
                let requested = [(memory.is_some(), "memory"), (cpus.is_some(), "cpus")];
                match requested.iter().find(|(is, _)| *is) {
                    Some((_, key)) => Err(Fault::usage("a besteffort group has no request")
                        .at(spelling.part(key))
                        .remedy(burstable())),
                    None => Ok(Profile::BestEffort { limit }),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn request(kind: ProfileKind) -> ProfileRequest {
        ProfileRequest { kind, ..ProfileRequest::default() }
    }

    #[test]
    fn what_contradicts_itself_is_refused_at_its_option() {
        let (some, small) = (Some(Bytes(2 * MIB)), Some(Bytes(MIB - 1)));
        let guaranteed = request(ProfileKind::Guaranteed);
        let besteffort = request(ProfileKind::BestEffort);
        let burstable = request(ProfileKind::Burstable);
        for (request, place) in [
            (guaranteed, "--profile guaranteed"),
            (ProfileRequest { memory: some, limit: some, ..guaranteed }, "--memory-limit"),
            (ProfileRequest { memory: some, ..besteffort }, "--memory"),
            (ProfileRequest { cpus: Some(1.0), ..besteffort }, "--cpus"),
            (ProfileRequest { memory: some, limit: Some(Bytes(MIB)), ..burstable }, "--memory-limit"),
            (ProfileRequest { memory: small, ..burstable }, "--memory"),
            (ProfileRequest { limit: small, ..besteffort }, "--memory-limit"),
            (ProfileRequest { cpus: Some(0.0), ..burstable }, "--cpus"),
            (ProfileRequest { cpus: Some(f64::NAN), ..burstable }, "--cpus"),
        ] {
            let fault = Profile::try_from(request).expect_err("is refused");
            assert_eq!(fault.place.as_deref(), Some(place), "{fault}");
            let fault = request.profile(Spelling::Keys).expect_err("is refused");
            let key = place.trim_start_matches("--").replace('-', "_");
            assert_eq!(fault.place.as_deref(), key.split(' ').next(), "{fault}");
            assert!(!fault.sentence().contains("--"), "{}", fault.sentence());
        }
    }
}
