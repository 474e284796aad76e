//! Which files of a room know which others.

use super::tokens::{Import, Text};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

/// A room's files: path within `src`, and text.
pub struct Sources {
    name: String,
    files: Vec<(String, String)>,
}

impl Sources {
    /// The files of the crate in `folder`.
    pub fn read(folder: &Path) -> Sources {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let mut files = Vec::new();
        read(&folder.join("src"), "", &mut files);
        files.sort();
        Sources { name, files }
    }

    /// The files of an invented room.
    pub fn given(name: &str, files: &[(&str, &str)]) -> Sources {
        let files = files.iter().map(|(path, text)| ((*path).to_string(), (*text).to_string()));
        Sources { name: name.into(), files: files.collect() }
    }
}

fn read(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = format!("{prefix}{}", path.file_name().expect("a name").to_string_lossy());
        if path.is_dir() {
            read(&path, &format!("{name}/"), files);
        } else if name.ends_with(".rs") {
            files.push((name, std::fs::read_to_string(&path).expect("UTF-8")));
        }
    }
}

/// A module's name from the root on.
type Module = Vec<String>;

/// The files of a room, and which others each knows.
pub struct Room {
    pub name: String,
    knows: BTreeMap<String, BTreeSet<String>>,
}

/// The modules of a room, to look paths up.
struct Modules {
    texts: BTreeMap<Module, Text>,
    files: BTreeMap<Module, String>,
}

impl Room {
    pub fn of(sources: &Sources) -> Room {
        let modules = Modules::of(sources);
        let knows = modules.texts.keys().map(|module| {
            let known = modules.known(module).iter().map(|other| modules.files[other].clone()).collect();
            (modules.files[module].clone(), known)
        });
        Room { name: sources.name.clone(), knows: knows.collect() }
    }

    /// Removes that one file knows another. Returns whether it did.
    pub fn forget(&mut self, from: &str, to: &str) -> bool {
        self.knows.get_mut(from).is_some_and(|known| known.remove(to))
    }

    /// A shortest circle through each file that is in one: each circle once, the shortest first.
    pub fn circles(&self) -> Vec<String> {
        let all: BTreeSet<Vec<&str>> = self.knows.keys().filter_map(|file| self.circle(file)).collect();
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by_key(Vec::len);
        all.iter().map(|circle| format!("{} → {}", circle.join(" → "), circle[0])).collect()
    }

    /// The shortest circle through a file, starting with its first file.
    fn circle<'a>(&'a self, start: &'a str) -> Option<Vec<&'a str>> {
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(file) = open.pop_front() {
            for next in &self.knows[file] {
                if before.contains_key(next.as_str()) {
                    continue;
                }
                before.insert(next, file);
                open.push_back(next);
            }
        }
        let mut circle = vec![*before.get(start)?];
        while circle.last() != Some(&start) {
            circle.push(before[circle.last().expect("has one")]);
        }
        circle.reverse();
        let first = (0..circle.len()).min_by_key(|place| circle[*place])?;
        circle.rotate_left(first);
        Some(circle)
    }
}

impl Modules {
    fn of(sources: &Sources) -> Modules {
        let (mut texts, mut files) = (BTreeMap::new(), BTreeMap::new());
        for (path, text) in &sources.files {
            let module = module(path);
            texts.insert(module.clone(), Text::of(text));
            files.insert(module, path.clone());
        }
        let of_tests: Vec<Module> = texts
            .iter()
            .flat_map(|(module, text): (&Module, &Text)| {
                text.test_modules.iter().map(|name| [module.as_slice(), std::slice::from_ref(name)].concat())
            })
            .collect();
        texts.retain(|module, _| !of_tests.iter().any(|test| module.starts_with(test)));
        Modules { texts, files }
    }

    /// The other modules that a module knows.
    fn known(&self, module: &Module) -> BTreeSet<Module> {
        let text = &self.texts[module];
        let mut known = BTreeSet::new();
        for import in &text.imports {
            let Some(path) = self.absolute(module, &import.path) else { continue };
            let is_own = path.starts_with(module) && path.len() > module.len();
            // A re-export counts only if the item is used too. Of an imported module, the items that are used count.
            let is_free = import.public && is_own && !text.words.contains(&import.name);
            if !is_free && !self.texts.contains_key(&path) {
                known.extend(self.home(&path, 0));
            }
        }
        for path in &text.inline {
            let imported = text.imports.iter().find(|import| import.name == path[0]);
            let path = match imported {
                Some(import) => [import.path.as_slice(), &path[1..]].concat(),
                None => path.clone(),
            };
            let path = self.absolute(module, &path);
            known.extend(
                path.filter(|path| !self.texts.contains_key(path)).and_then(|path| self.home(&path, 0)),
            );
        }
        known.remove(module);
        known
    }

    /// A path from the root; `None` if it leads out of the room.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let mut base = module.clone();
        match path[0].as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                let up = path.iter().take_while(|word| *word == "super").count();
                base.truncate(module.len().checked_sub(up)?);
                return Some([base.as_slice(), &path[up..]].concat());
            }
            child => {
                base.push(child.to_string());
                self.texts.get(&base)?;
                return Some([base.as_slice(), &path[1..]].concat());
            }
        }
        Some([base.as_slice(), &path[1..]].concat())
    }

    /// The module that defines the item of a path from the root, through re-exports.
    fn home(&self, path: &Module, depth: usize) -> Option<Module> {
        let length = (0..=path.len()).rev().find(|length| self.texts.contains_key(&path[..*length]))?;
        let module = path[..length].to_vec();
        let item = path.get(length)?;
        let all: Vec<String> = vec!["*".into()];
        let leads = |import: &&Import| import.public && import.name == *item;
        let onward = self.texts[&module].imports.iter().find(leads).and_then(|import| {
            let onward = self.absolute(&module, &import.path)?;
            (depth < 9 && path[length..] != all).then_some(onward)
        });
        match onward {
            Some(onward) => self.home(&[onward.as_slice(), &path[length + 1..]].concat(), depth + 1),
            None => Some(module),
        }
    }
}

/// The module that a file holds.
fn module(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut words: Module = path.split('/').map(String::from).collect();
    if matches!(words.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        words.pop();
    }
    words
}
