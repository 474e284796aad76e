//! Who descends from this process.

use std::fs;

/// The processes that descend from this one: number and name. Zombies are not counted.
pub fn descendants() -> Vec<(u32, String)> {
    let mut family = vec![(std::process::id(), String::new())];
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
        let known: Vec<u32> = family.iter().map(|f| f.0).collect();
        let before = family.len();
        family.extend(
            all.iter()
                .filter(|(pid, parent, _)| !known.contains(pid) && parent.is_some_and(|p| known.contains(&p)))
                .map(|(pid, _, name)| (*pid, name.clone())),
        );
        if family.len() == before {
            return family.split_off(1);
        }
    }
}
