//! Changes to groups that exist, and how they are taken back.

use std::collections::BTreeSet;

use crosstalk_cgroup::group::{Dial, Group, Setting};
use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human};
use crosstalk_host::Ledger;

use crate::contents::Contents;
use crate::name::GroupName;
use crate::profile::Profile;
use crate::unusable::vanished;
use crate::user::User;

/// Changes that were made.
#[derive(Default)]
pub struct Changes {
    /// The ledger lists them until the registry has the new version. Undone in reverse order.
    dials: Vec<Dial>,
    /// Groups that belong to another user now, and to whom they belonged.
    shared: Vec<(Group, User)>,
    notes: Vec<String>,
}

impl Changes {
    /// Sets what differs in groups of these names.
    ///
    /// # Errors
    /// If a group has vanished, uses more memory than its new limit, or the kernel refuses.
    pub fn make(
        &mut self,
        before: &Contents,
        next: &Contents,
        names: &[GroupName],
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let parents = next.parent();
        for name in &in_order(before, next, names) {
            let group = parents.below(name.as_str());
            if !group.is_whole() {
                return Err(vanished(name));
            }
            let profile = &next.groups[name].profile;
            self.notes.extend(profile.shortfall(&group));
            let mut settings = profile.changes(&before.groups[name].profile, &group);
            let processes = next.groups[name].processes;
            let is_set = processes.or(before.groups[name].processes).is_some();
            settings.extend(is_set.then_some(Setting::Processes(processes.map(u64::from))));
            let leaves_idle_class = settings.contains(&Setting::Idle(false));
            for setting in &settings {
                match setting {
                    // An idle group's weight is the kernel's: it comes back with the class, and cannot be set back.
                    Setting::Weight(_) if leaves_idle_class => group.set(setting)?,
                    _ => self.set(name, &group, setting, ledger)?,
                }
            }
        }
        Ok(())
    }

    fn set(
        &mut self,
        name: &GroupName,
        group: &Group,
        setting: &Setting,
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let mut dial = group.knob(setting, ledger)?;
        if dial.says(setting) {
            return Ok(());
        }
        match setting {
            Setting::MemoryMax(Some(limit)) => self.notes.extend(lower(name, group, *limit, &mut dial)?),
            // A device without shares has none to give: nothing is lost.
            Setting::IoWeight(_) if dial.set(setting).is_err() => return dial.leave(),
            Setting::IoWeight(_) => {}
            Setting::Idle(true) => {
                // The kernel changes the weight, too, which is set back after it.
                let mut weight = group.knob(&Setting::Weight(1), ledger)?;
                weight.keep()?;
                self.dials.push(weight);
                dial.set(setting)?;
            }
            _ => dial.set(setting)?,
        }
        self.dials.push(dial);
        Ok(())
    }

    /// Lets a user put programs into the groups; their maker only if there is none.
    ///
    /// # Errors
    /// If this user may not give files away.
    pub fn share(&mut self, next: &Contents, names: &[GroupName], user: Option<&User>) -> Result<(), Fault> {
        for name in names {
            let group = next.parent().below(name.as_str());
            let (was, maker) = (User::admitted(&group), User::maker(&group));
            let Some((was, maker)) = was.zip(maker) else { continue };
            self.shared.push((group.clone(), was));
            user.unwrap_or(&maker).admit(&group)?;
            self.notes.extend(user.and_then(|user| user.shortfall(&group)));
        }
        Ok(())
    }

    /// Leaves all as it is, once the registry has it. Returns what happened, in a line each.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn leave(self) -> Result<Vec<String>, Fault> {
        self.dials.into_iter().try_for_each(Dial::leave)?;
        Ok(self.notes)
    }

    /// Takes all back.
    pub fn undo(mut self) {
        while let Some(dial) = self.dials.pop() {
            drop(dial);
        }
        // Whoever could give it away can take it back.
        self.shared.iter().for_each(|(group, user)| drop(user.admit(group)));
    }
}

/// In which order groups are changed. v1 allows no quota above that of the group around it: inner ones are lowered
/// first, and outer ones raised first.
fn in_order(before: &Contents, next: &Contents, names: &[GroupName]) -> Vec<GroupName> {
    let quota = |contents: &Contents, name: &GroupName| match contents.groups[name].profile {
        Profile::Guaranteed { cpus: Some(cpus), .. } => cpus,
        _ => f64::INFINITY,
    };
    let names: BTreeSet<GroupName> = names.iter().cloned().collect();
    let (lowered, raised): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| quota(next, name) < quota(before, name));
    lowered.into_iter().rev().chain(raised).collect()
}

/// Sets a memory limit. Says if pages were pushed out for it.
fn lower(name: &GroupName, group: &Group, limit: Bytes, dial: &mut Dial) -> Result<Option<String>, Fault> {
    let size = |bytes: Bytes| human(bytes.0 as f64, "B");
    let refused = |uses: Bytes| {
        Fault::environment(format!(
            "`{name}` uses {}, and the kernel cannot push out enough for a limit of {}",
            size(uses),
            size(limit)
        ))
        .at("--memory-limit")
        .remedy(format!(
            "choose a higher limit, or end programs in it; what it uses: crosstalk groups show {name}"
        ))
    };
    let above = |charged: &Bytes| charged.0 > limit.0;
    let used = group.charged().filter(above);
    group.reclaim_to(limit).map_err(refused)?;
    // v1 refuses with EBUSY.
    dial.set(&Setting::MemoryMax(Some(limit)))
        .map_err(|fault| group.charged().filter(above).map_or(fault, refused))?;
    Ok(used.map(|used| {
        format!("`{name}` used {}: pages were pushed out for its limit of {}", size(used), size(limit))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Registered;

    fn name(text: &str) -> GroupName {
        text.parse().expect("is a name")
    }

    #[test]
    fn quotas_are_lowered_from_within_and_raised_from_outside() {
        let of = |quotas: [f64; 3]| {
            let profile = |quota| Profile::Guaranteed { memory: Bytes(1 << 20), cpus: Some(quota) };
            let groups =
                ["a", "a/b", "c"].map(name).into_iter().zip(quotas.map(profile).map(Registered::new));
            Contents { groups: groups.collect(), ..Contents::default() }
        };
        let names = ["c", "a", "a/b"].map(name);
        let order = |before, next| {
            in_order(&of(before), &of(next), &names).into_iter().map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(order([2.0, 2.0, 1.0], [1.0, 1.0, 2.0]), ["a/b", "a", "c"]);
        assert_eq!(order([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]), ["a", "a/b", "c"]);
    }
}
