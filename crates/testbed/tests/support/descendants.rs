//! The descendants of this process.

use std::fs;

/// The ids and names of all descendants, without zombies.
pub fn descendants() -> Vec<(u32, String)> {
    let mut found = vec![(std::process::id(), String::new())];
    let mut all = Vec::new();
    for pid in fs::read_dir("/proc")
        .expect("is there")
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
    {
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let (head, tail) = stat.rsplit_once(") ").expect("has a name");
        let name = head.split_once('(').expect("has a name").1.to_string();
        let mut fields = tail.split(' ');
        let (state, parent) = (fields.next(), fields.next().and_then(|p| p.parse::<u32>().ok()));
        if state != Some("Z") {
            all.push((pid, parent, name));
        }
    }
    loop {
        let known: Vec<u32> = found.iter().map(|(pid, _)| *pid).collect();
        let before = found.len();
        found.extend(
            all.iter()
                .filter(|(pid, parent, _)| !known.contains(pid) && parent.is_some_and(|p| known.contains(&p)))
                .map(|(pid, _, name)| (*pid, name.clone())),
        );
        if found.len() == before {
            return found.split_off(1);
        }
    }
}
