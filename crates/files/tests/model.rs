//! A file system without a network, against a model: names with their contents.

use crate::common::Local;
use crosstalk_files::{Client, Site, Sync};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum Step {
    Create(u8),
    Remove(u8),
    Rename(u8, u8),
    Write(u8, u16, Vec<u8>),
    Read(u8, u16, u16),
    Stat(u8),
    List,
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0_u8..4;
    prop_oneof![
        name().prop_map(Step::Create),
        name().prop_map(Step::Remove),
        (name(), name()).prop_map(|(old, new)| Step::Rename(old, new)),
        (name(), 0_u16..300, prop::collection::vec(any::<u8>(), 0..200))
            .prop_map(|(name, at, data)| Step::Write(name, at, data)),
        (name(), 0_u16..300, 0_u16..200).prop_map(|(name, at, bytes)| Step::Read(name, at, bytes)),
        name().prop_map(Step::Stat),
        Just(Step::List),
    ]
}

proptest! {
    #[test]
    fn any_sequence_of_operations_equals_the_model(
        steps in prop::collection::vec(step(), 0..60), servers in 1_usize..6, stripe in 1_u64..40,
    ) {
        let site = Site { servers, stripe, capacity: u64::MAX, sync: Sync::None };
        let mut client = Client(Local::new(site));
        let mut model: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let name = |name: u8| format!("f{name}");
        for step in steps {
            match step {
                Step::Create(file) => {
                    let new = !model.contains_key(&name(file));
                    prop_assert_eq!(client.create(&name(file)).is_ok(), new);
                    model.entry(name(file)).or_default();
                }
                Step::Remove(file) => {
                    prop_assert_eq!(client.remove(&name(file)).is_ok(), model.remove(&name(file)).is_some());
                }
                Step::Rename(old, new) => {
                    let contents = model.remove(&name(old));
                    prop_assert_eq!(client.rename(&name(old), &name(new)).is_ok(), contents.is_some());
                    contents.map(|contents| model.insert(name(new), contents));
                }
                Step::Write(file, at, data) => match (client.open(&name(file)), model.get_mut(&name(file))) {
                    (Ok(open), Some(contents)) => {
                        client.write(&open, u64::from(at), &data).expect("there is room");
                        let end = usize::from(at) + data.len();
                        if !data.is_empty() {
                            contents.resize(contents.len().max(end), 0);
                            contents[usize::from(at)..end].copy_from_slice(&data);
                        }
                    }
                    (open, contents) => prop_assert!(open.is_err() && contents.is_none()),
                },
                Step::Read(file, at, bytes) => {
                    let Some(contents) = model.get(&name(file)) else { continue };
                    let mut found = vec![1; usize::from(bytes)];
                    let open = client.open(&name(file)).expect("is there");
                    client.read(&open, u64::from(at), &mut found).expect("reads");
                    let rest = contents.get(usize::from(at)..).unwrap_or_default();
                    let mut expected = rest[..rest.len().min(found.len())].to_vec();
                    expected.resize(found.len(), 0);
                    prop_assert_eq!(found, expected);
                }
                Step::Stat(file) => {
                    let size = model.get(&name(file)).map(|contents| contents.len() as u64);
                    prop_assert_eq!(client.stat(&name(file)).ok(), size);
                }
                Step::List => {
                    let names: Vec<String> = model.keys().cloned().collect();
                    prop_assert_eq!(client.list().expect("lists"), names);
                }
            }
        }
        for file in model.keys() {
            client.remove(file).expect("is there");
        }
        prop_assert_eq!(client.held(), Ok(0));
    }
}
