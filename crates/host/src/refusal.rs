//! The reason why this machine refuses namespaces, and its remedy.
//!
//! Common reasons: Ubuntu 24.04's AppArmor restriction of unprivileged user
//! namespaces, `user.max_user_namespaces = 0`, Debian's old
//! `kernel.unprivileged_userns_clone = 0`, the seccomp profile of containers,
//! WSL 1. Virtual time needs no namespaces, so that it always works.

use crosstalk_core::Fault;
use std::path::Path;
use std::{fs, io};

const STILL_WORKS: &str = "what still works: studies in virtual time, with --testbed local";

/// The fault for a refused step, with the setting that most likely forbids it.
pub fn fault(step: &str, error: io::Error) -> Fault {
    explain(step, &error, &Restrictions::read(Path::new("/")))
}

/// The restrictions of a machine, as far as they can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Restrictions {
    is_root: bool,
    apparmor_restricts: bool,
    clone_forbidden: bool,
    no_user_namespaces: bool,
    container: bool,
    wsl: bool,
}

impl Restrictions {
    fn read(root: &Path) -> Restrictions {
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default().trim().to_string();
        let release = text("proc/sys/kernel/osrelease").to_lowercase();
        Restrictions {
            is_root: crate::user::is_root(),
            apparmor_restricts: text("proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1",
            clone_forbidden: text("proc/sys/kernel/unprivileged_userns_clone") == "0",
            no_user_namespaces: text("proc/sys/user/max_user_namespaces") == "0",
            container: root.join(".dockerenv").exists()
                || root.join("run/.containerenv").exists()
                || ["docker", "lxc", "kubepods", "containerd"]
                    .iter()
                    .any(|name| text("proc/1/cgroup").contains(name)),
            wsl: release.contains("microsoft"),
        }
    }
}

fn explain(step: &str, error: &io::Error, restrictions: &Restrictions) -> Fault {
    let fault = |why: &str| Fault::environment(format!("cannot {step}: {error}{why}"));
    let with = |place: &str, why: &str, command: &str| {
        fault(&format!("; {why}")).at(place.to_string()).remedy(format!("{command}\n  {STILL_WORKS}"))
    };
    if restrictions.clone_forbidden && !restrictions.is_root {
        let knob = "kernel.unprivileged_userns_clone";
        return with(knob, "it is 0, which keeps user namespaces to root", &sysctl(knob, 1));
    }
    if restrictions.no_user_namespaces {
        let knob = "user.max_user_namespaces";
        return with(knob, "it is 0, which forbids user namespaces", &sysctl(knob, 15_000));
    }
    if restrictions.apparmor_restricts && !restrictions.is_root {
        let knob = "kernel.apparmor_restrict_unprivileged_userns";
        let why = "it is 1 (Ubuntu 23.10 and later), which takes all rights away within user namespaces";
        return with(knob, why, &sysctl(knob, 0));
    }
    // Settings first: they are certain, a container's restriction is a guess.
    if restrictions.container {
        return with(
            "container",
            "the container's seccomp profile or capabilities forbid it",
            "start the container with --privileged, or with --cap-add SYS_ADMIN --cap-add NET_ADMIN \
             --security-opt seccomp=unconfined --security-opt apparmor=unconfined",
        );
    }
    if restrictions.wsl {
        return with(
            "WSL",
            "WSL 1 has no namespaces, and WSL 2 only those that its kernel was built with",
            "in Windows: wsl --set-version DISTRIBUTION 2, then wsl --update",
        );
    }
    if restrictions.is_root {
        return fault("").remedy(STILL_WORKS);
    }
    fault("").remedy(format!("run it as root with sudo\n  {STILL_WORKS}"))
}

fn sysctl(knob: &str, value: u32) -> String {
    format!("sudo sysctl -w {knob}={value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> io::Error {
        io::Error::from_raw_os_error(libc::EPERM)
    }

    #[test]
    fn each_refusal_names_its_setting_its_command_and_what_still_works() {
        let user = Restrictions::default();
        let cases = [
            (
                Restrictions { apparmor_restricts: true, ..user },
                "kernel.apparmor_restrict_unprivileged_userns",
                "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
            ),
            (
                Restrictions { no_user_namespaces: true, ..user },
                "user.max_user_namespaces",
                "sudo sysctl -w user.max_user_namespaces=15000",
            ),
            (
                Restrictions { clone_forbidden: true, ..user },
                "kernel.unprivileged_userns_clone",
                "sudo sysctl -w kernel.unprivileged_userns_clone=1",
            ),
            (Restrictions { container: true, ..user }, "container", "--privileged"),
            (Restrictions { wsl: true, ..user }, "WSL", "wsl --set-version"),
        ];
        for (restrictions, place, command) in cases {
            let fault = explain("make namespaces", &refused(), &restrictions);
            let remedy = fault.remedy.expect("a remedy");
            assert_eq!(fault.place.as_deref(), Some(place));
            assert!(remedy.contains(command), "{remedy}");
            assert!(remedy.contains("--testbed local"), "{remedy}");
        }
    }

    #[test]
    fn settings_for_users_do_not_explain_a_refusal_of_root() {
        let restrictions = Restrictions {
            is_root: true,
            apparmor_restricts: true,
            container: true,
            ..Restrictions::default()
        };
        assert_eq!(explain("x", &refused(), &restrictions).place.as_deref(), Some("container"));
    }

    #[test]
    fn restrictions_are_read_from_the_machine() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let kernel = folder.path().join("proc/sys/kernel");
        fs::create_dir_all(&kernel).expect("creates");
        fs::write(kernel.join("apparmor_restrict_unprivileged_userns"), "1\n").expect("writes");
        fs::write(kernel.join("osrelease"), "5.15.90.1-microsoft-standard-WSL2\n").expect("writes");
        let restrictions = Restrictions::read(folder.path());
        assert!(
            restrictions.apparmor_restricts
                && restrictions.wsl
                && !restrictions.container
                && !restrictions.no_user_namespaces
        );
    }
}
