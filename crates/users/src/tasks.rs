//! What each user of an attempt is to do, with the files for it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_work::peer::Deadline;

use crate::arrangement::{Arrangement, UserGroup};
use crate::common::CommonFiles;
use crate::files::{block_file, check_space, create, missing};
use crate::isolation::View;
use crate::mix::{Activity, Mix, Size};
use crate::orders::{Orders, Overlay, Task, UserOrders};
use crate::population::{Load, Population};
use crate::reread::BLOCK;

/// The blocks of a slow reader's job, at a `work` of 1: 0.1 s of pauses.
const BLOCKS: f64 = 20.0;

/// The drivers' orders: one for each group of users. `folder` is the attempt's own, `files` stay for later ones.
///
/// # Errors
/// If files cannot be made, or not in time; a usage fault if there is too little space for them, or the mix's file has
/// changed.
pub fn orders(
    population: &Population,
    arrangement: &Arrangement,
    folder: &Path,
    files: &Path,
    seed: u64,
    until: &Deadline,
) -> Result<Vec<Orders>, Fault> {
    let folders = folders(arrangement, folder)?;
    let groups = &arrangement.groups;
    let tasks: Vec<Vec<Task>> = match &population.load {
        Load::Mix(name, _) => mix_tasks(population, name, groups, &folders, seed, until)?,
        Load::Each(each) => {
            let tasks = tasks(population, each, files, until)?;
            groups.iter().map(|group| group.users.iter().map(|user| tasks[*user].clone()).collect()).collect()
        }
    };
    // Over the files that users read, or those that they make.
    let overlay = |at: usize, made: &Path| {
        let over = if matches!(population.load, Load::Each(_)) { files } else { made };
        let own = folder.join(format!("overlay-{at}"));
        (arrangement.view == View::Overlay).then(|| Overlay { over: over.into(), own })
    };
    let mut all = Vec::new();
    for (at, (group, tasks)) in groups.iter().zip(tasks).enumerate() {
        let user = |(number, task): (&usize, Task)| UserOrders {
            number: *number,
            folder: folders[at].clone(),
            seed,
            task,
        };
        let users = group.users.iter().zip(tasks).map(user).collect();
        all.push(Orders { overlay: overlay(at, &folders[at]), users });
    }
    Ok(all)
}

/// The folder of each group: one for all, or one for each.
fn folders(arrangement: &Arrangement, folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let path = |group: &UserGroup| folder.join(if arrangement.folders { group.name.as_str() } else { "all" });
    let folders: Vec<PathBuf> = arrangement.groups.iter().map(path).collect();
    folders.iter().try_for_each(|folder| create(folder))?;
    Ok(folders)
}

/// The tasks of a mix's users, by group.
fn mix_tasks(
    population: &Population,
    name: &str,
    groups: &[UserGroup],
    folders: &[PathBuf],
    seed: u64,
    until: &Deadline,
) -> Result<Vec<Vec<Task>>, Fault> {
    let mix = Mix::find(name)?;
    let file_size = mix.file_size(population.users());
    let distinct: BTreeSet<&PathBuf> = folders.iter().collect();
    // One is common to a folder's users, and each user writes one.
    let files = (distinct.len() + population.users()) as f64;
    let need = files * population.work * file_size.0 as f64;
    folders.first().map_or(Ok(()), |folder| check_space(folder, Bytes(need as u64)))?;
    let proceed = || until.check("the users' files to be written");
    let of_group = |(group, folder): (&UserGroup, &PathBuf)| {
        let common = folder.join("common");
        let task = |user: &usize| {
            let jobs = mix.jobs(population.jobs, seed, *user as u64);
            let jobs = jobs.iter().map(|test| test.name.to_string()).collect();
            Task::Mix { jobs, common: common.clone(), work: population.work, file_size }
        };
        group.users.iter().map(task).collect()
    };
    for folder in distinct {
        create(&folder.join("common"))?;
        CommonFiles::make(&folder.join("common"), file_size, population.work, &proceed)?;
    }
    Ok(groups.iter().zip(folders).map(of_group).collect())
}

/// The task of each user that has no jobs of a mix.
fn tasks(
    population: &Population,
    each: &[Activity],
    files: &Path,
    until: &Deadline,
) -> Result<Vec<Task>, Fault> {
    let blocks = (BLOCKS * population.work).round().max(1.0) as usize;
    // Files that users read, by name.
    let mut sizes = BTreeMap::new();
    let mut file = |name: String, size: Size| -> Result<(PathBuf, Bytes), Fault> {
        let size = whole_blocks(size, population)?;
        sizes.insert(name.clone(), size);
        Ok((files.join(name), size))
    };
    let mut task = |(user, activity): (usize, &Activity)| {
        Ok(match activity {
            Activity::Reread(size) => {
                let (file, size) = file(format!("reader-{user}"), *size)?;
                Task::Reread { file, size, jobs: population.jobs, blocks }
            }
            Activity::Stream(size) => {
                let name =
                    if population.streamers_share { "stream".into() } else { format!("stream-{user}") };
                Task::Stream { file: file(name, *size)?.0 }
            }
            Activity::Run(command) => Task::Run { command: command.clone() },
        })
    };
    let tasks = each.iter().enumerate().map(&mut task).collect::<Result<_, Fault>>()?;
    check_space(files, missing(files, &sizes))?;
    sizes.iter().try_for_each(|(name, size)| block_file(&files.join(name), size.0, until))?;
    Ok(tasks)
}

/// A file's size in whole blocks, at least one.
fn whole_blocks(size: Size, population: &Population) -> Result<Bytes, Fault> {
    let bytes = size.on(population.machine.memory);
    let bytes =
        bytes.ok_or_else(|| Fault::usage("the machine's memory is not known").of_parameter("memory"))?;
    let block = BLOCK as u64;
    Ok(Bytes((bytes.0 / block).max(1) * block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use std::sync::atomic::AtomicBool;

    use crosstalk_core::units::Seconds;
    use crosstalk_core::value::Params;

    /// The number of files of three who read and two who stream.
    fn files(streamers_share: bool) -> usize {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let params = Params::default().with("mix", "reread").with("memory", "1 MiB").with("users", 5);
        let params = params.with("streamers", 2).with("streamers_share", streamers_share);
        let population = Population::read(&params).expect("is fine");
        let Load::Each(each) = &population.load else { panic!("they read") };
        let cancelled = AtomicBool::new(false);
        let until = Deadline::new(Seconds(60.0), &cancelled);
        let tasks = tasks(&population, each, folder.path(), &until).expect("makes the files");
        let file = |task: &Task| match task {
            Task::Stream { file } | Task::Reread { file, .. } => file.clone(),
            other => panic!("{other:?}"),
        };
        tasks.iter().map(file).collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn each_user_reads_a_file_of_its_own_but_those_who_share() {
        assert_eq!((files(false), files(true)), (5, 4));
    }
}
