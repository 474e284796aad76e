//! Whether a group could be made, before anybody needs it.

use crosstalk_cgroup::group::{Hierarchy, Tree, may_write};
use crosstalk_core::Fault;

use crate::budget::protections;
use crate::create::{CreateRequest, check_free, kernels_file, with};
use crate::name::GroupName;
use crate::parents::Site;
use crate::registry::Registry;
use crate::systemd;

/// Checks that groups could be made beside those that there are.
///
/// # Errors
/// Those that making them would have, as far as that is known.
pub fn check(hierarchy: &Hierarchy, request: &CreateRequest) -> Result<(), Fault> {
    let contents = Registry::own()?.read()?;
    let next = with(&contents, request)?;
    let site = Site::find(&contents, hierarchy, &may_write, systemd::is_booted())?;
    protections(&next.groups, &site.machine(hierarchy))?;
    request.names.iter().try_for_each(|name| {
        check_file(name, hierarchy)?;
        check_free(name, &contents.parent().below(name.as_str()))
    })
}

/// Checks that no file of the kernel has the name: each control group has the same ones.
fn check_file(name: &GroupName, hierarchy: &Hierarchy) -> Result<(), Fault> {
    let last = name.as_str().rsplit('/').next().unwrap_or_default();
    let places = hierarchy.trees().into_iter().filter_map(Tree::here).map(|dir| dir.join(last));
    match places.into_iter().find(|path| path.is_file()) {
        Some(taken) => Err(kernels_file().at(taken.display().to_string())),
        None => Ok(()),
    }
}
