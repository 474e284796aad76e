//! Tests of names and attributes, in mdtest's manner: each client has so many files in one directory.

use crosstalk_core::Fault;

use crate::client::{Client, Servers};
use crate::job::{Job, Member, same_size};
use crate::pattern::{Pattern, mixed};
use crate::spec::Metadata;

/// The most bytes of a file that has any.
const SMALL: u64 = 1000;

/// A client's part.
#[derive(Debug)]
pub struct MetadataJob {
    test: Metadata,
    files: u64,
    member: Member,
}

/// What was found while it was timed.
#[derive(Debug, Default)]
pub struct Found {
    sizes: Vec<u64>,
    names: Vec<String>,
}

impl MetadataJob {
    /// The part of a client with so many files.
    pub fn new(test: Metadata, files: u64, member: Member) -> Self {
        MetadataJob { test, files, member }
    }

    /// What is timed, of all clients together.
    pub fn operations(test: Metadata, files: u64, clients: usize) -> u64 {
        let each = if test == Metadata::List { 1 } else { files };
        each * clients as u64
    }

    fn name(&self, index: u64) -> String {
        format!("file.{}.{index}", self.member.number)
    }

    fn new_name(&self, index: u64) -> String {
        format!("renamed.{}.{index}", self.member.number)
    }

    /// All clients' names that begin with a word, in order.
    fn all(&self, word: &str) -> Vec<String> {
        let of = |client| (0..self.files).map(move |index| format!("{word}.{client}.{index}"));
        let mut all: Vec<String> = (0..self.member.clients).flat_map(of).collect();
        all.sort();
        all
    }

    /// What a file contains that has bytes.
    fn contents(&self, index: u64) -> Vec<u8> {
        let number = self.member.number as u64 * self.files + index;
        let pattern = Pattern::new(self.member.seed, number);
        pattern.bytes(0, (1 + mixed(self.member.seed ^ number) % SMALL) as usize)
    }
}

impl Job for MetadataJob {
    type Found = Found;

    fn make<S: Servers>(&mut self, client: &mut Client<S>) -> Result<(), Fault> {
        if self.test == Metadata::Create {
            return Ok(());
        }
        (0..self.files).try_for_each(|index| {
            let file = client.create(&self.name(index))?;
            match self.test {
                Metadata::List => Ok(()),
                _ => client.write(&file, 0, &self.contents(index)),
            }
        })
    }

    fn fill<S: Servers>(&mut self, _: &mut Client<S>) -> Result<(), Fault> {
        Ok(())
    }

    fn timed<S: Servers>(&mut self, client: &mut Client<S>) -> Result<Found, Fault> {
        let mut found = Found::default();
        if self.test == Metadata::List {
            found.names = client.list()?;
            return Ok(found);
        }
        for index in 0..self.files {
            let name = self.name(index);
            match self.test {
                Metadata::Create => client.create(&name).map(drop)?,
                Metadata::Stat => found.sizes.push(client.stat(&name)?),
                Metadata::Rename => client.rename(&name, &self.new_name(index))?,
                Metadata::Remove => client.remove(&name)?,
                // Done above, for all files at once.
                Metadata::List => {}
            }
        }
        Ok(found)
    }

    fn check<S: Servers>(&mut self, client: &mut Client<S>, found: Found) -> Result<(), Fault> {
        match self.test {
            Metadata::Create => {
                same_names(&client.list()?, &self.all("file"))?;
                (0..self.files).try_for_each(|index| {
                    let name = self.name(index);
                    same_size(&name, client.stat(&name)?, 0)
                })
            }
            Metadata::Stat => found.sizes.iter().enumerate().try_for_each(|(index, size)| {
                same_size(&self.name(index as u64), *size, self.contents(index as u64).len() as u64)
            }),
            Metadata::List => same_names(&found.names, &self.all("file")),
            Metadata::Rename => {
                same_names(&client.list()?, &self.all("renamed"))?;
                (0..self.files).try_for_each(|index| {
                    let (name, contents) = (self.new_name(index), self.contents(index));
                    same_size(&name, client.stat(&name)?, contents.len() as u64)?;
                    let file = client.open(&name)?;
                    let mut read = vec![0; contents.len()];
                    client.read(&file, 0, &mut read)?;
                    match read == contents {
                        true => Ok(()),
                        false => Err(Fault::attempt("its contents changed when it was renamed")
                            .at(format!("file `{name}`"))),
                    }
                })
            }
            Metadata::Remove => {
                same_names(&client.list()?, &[])?;
                match client.held()? {
                    0 => Ok(()),
                    held => {
                        Err(Fault::attempt(format!("all files were removed, and servers hold {held} bytes")))
                    }
                }
            }
        }
    }
}

/// Compares names, both in order.
fn same_names(found: &[String], expected: &[String]) -> Result<(), Fault> {
    let Some(index) =
        (0..found.len().max(expected.len())).find(|index| found.get(*index) != expected.get(*index))
    else {
        return Ok(());
    };
    let name = |names: &[String]| names.get(index).map_or("its end".to_string(), |name| format!("`{name}`"));
    Err(Fault::attempt(format!(
        "wrong list at name {index}: expected {} of {}, found {} of {}",
        name(expected),
        expected.len(),
        name(found),
        found.len()
    ))
    .at("the directory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_lacks_a_name_or_has_one_too_many_is_found() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(same_names(&names(&["a", "b"]), &names(&["a", "b"])), Ok(()));
        let wrong =
            |found: &[&str]| same_names(&names(found), &names(&["a", "b"])).expect_err("differs").to_string();
        assert!(
            wrong(&["a"]).contains("at name 1: expected `b` of 2, found its end of 1"),
            "{}",
            wrong(&["a"])
        );
        assert!(wrong(&["a", "b", "c"]).contains("expected its end of 2, found `c` of 3"));
        assert!(wrong(&["a", "x"]).contains("expected `b` of 2, found `x` of 2"));
    }
}
