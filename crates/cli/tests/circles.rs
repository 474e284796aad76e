//! Data flows one way within a room too: no files import each other in a circle. The rules:
//!
//! - A file *knows* another if a path in it leads there: `use crate::a::B`, `use super::b`, or inline
//!   `super::b::f()`. Test modules (`#[cfg(test)]`) are left out.
//! - A path leads to the file that defines the item. Re-exports are followed, so a parent may re-export its children.
//! - `mod child;` and `pub use child::Item` do not count: a parent that declares and re-exports its children knows none
//!   of them. It knows a child if it uses an item of it.
//! - Methods and traits are found by the compiler and not by a path, so they do not count.

#[path = "circles/files.rs"]
mod files;
#[path = "circles/tokens.rs"]
mod tokens;

use files::{Room, Sources};
use std::path::Path;

/// Exceptions: room, the file that knows the other, the other, and the reason. Each entry removes a circle.
const ALLOWED: &[(&str, &str, &str, &str)] = &[];

/// Rooms that are not checked yet, and the reason. A room without circles must not be listed.
const LATER: &[(&str, &str)] = &[];

fn rooms() -> Vec<Room> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<_> = std::fs::read_dir(&crates)
        .expect("crates/")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("src").is_dir())
        .collect();
    folders.sort();
    folders.iter().map(|folder| Room::of(&Sources::read(folder))).collect()
}

#[test]
fn no_files_of_a_room_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for mut room in rooms() {
        for (name, from, to, _) in ALLOWED {
            assert!(
                *name != room.name || room.forget(from, to),
                "ALLOWED: {name}: {from} does not know {to} (any more)"
            );
        }
        let found = room.circles();
        if LATER.iter().any(|(name, _)| *name == room.name) {
            assert!(!found.is_empty(), "LATER: {} has no circles (any more)", room.name);
            continue;
        }
        circles.extend(found.into_iter().map(|circle| format!("{}: {circle}", room.name)));
    }
    assert!(circles.is_empty(), "files that import each other in a circle:\n{}", circles.join("\n"));
}

#[test]
fn every_exception_has_its_reason_and_its_room() {
    let names: Vec<String> = rooms().into_iter().map(|room| room.name).collect();
    let allowed = ALLOWED.iter().map(|(room, _, _, why)| (room, why));
    for (room, why) in allowed.chain(LATER.iter().map(|(room, why)| (room, why))) {
        assert!(names.iter().any(|name| name == room), "{room}: no such room");
        assert!(why.len() > 10, "{room}: why?");
    }
}

/// The circles of a room with these files.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    Room::of(&Sources::given("room", files)).circles()
}

#[test]
fn a_circle_is_found_however_its_paths_are_written() {
    let found = |a: &str| circles(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", "use crate::a::A;")]);
    for knows in [
        "use crate::b::B;",
        "use super::b;\nfn f() { b::f() }",
        "use super::{b::{self, B as C}};",
        "fn f() { crate::b::f() }",
        "fn f() -> super::b::B { todo!() }",
    ] {
        assert_eq!(found(knows), ["a.rs → b.rs → a.rs"], "{knows}");
    }
    for knows in [
        "// use crate::b::B;",
        "const X: &str = \"crate::b::B\";",
        "#[cfg(test)]\nmod tests { use crate::b::B; }",
        "use std::b::B;",
    ] {
        assert!(found(knows).is_empty(), "{knows}");
    }
}

#[test]
fn a_parent_may_re_export_its_children_but_not_use_them() {
    let found = |parent: &str| {
        circles(&[("lib.rs", "mod a;"), ("a.rs", parent), ("a/child.rs", "use super::Known; pub struct C;")])
    };
    assert!(found("mod child; pub use child::C; pub struct Known;").is_empty());
    assert_eq!(found("mod child; use child::C; pub struct Known;"), ["a.rs → a/child.rs → a.rs"]);
    assert_eq!(found("mod child; pub use child::C; pub struct Known(C);"), ["a.rs → a/child.rs → a.rs"]);
    assert_eq!(found("mod child; pub struct Known; fn f() { child::f() }"), ["a.rs → a/child.rs → a.rs"]);
}

#[test]
fn re_exports_are_looked_through() {
    let parent = ("a/mod.rs", "mod one; mod two; pub use one::One;");
    let files =
        |one| circles(&[("lib.rs", "mod a;"), parent, ("a/one.rs", one), ("a/two.rs", "use super::One;")]);
    assert!(files("pub struct One;").is_empty());
    assert_eq!(files("use super::two::Two; pub struct One;"), ["a/one.rs → a/two.rs → a/one.rs"]);
}
