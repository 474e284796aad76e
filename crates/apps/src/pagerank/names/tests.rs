//! Tests of `names`.

use super::*;
use crate::pagerank::table::Table;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn table(names: &[Name]) -> Names {
    let mut buffers = vec![Vec::new(); 3];
    (0..).zip(names).for_each(|(index, name)| name.put(&mut buffers[index % 3]));
    Names::Table(Table::new(&buffers).expect("complete"))
}

#[test]
fn numbers_keep_their_order() {
    let names = [7, 4_000_000_000, 1 << 63, 0, 268_435_455].map(Name::Number);
    let table = table(&names);
    let labels = names.map(|name| table.label(name).expect("known"));
    assert_eq!(labels, [1, 3, 4, 0, 2]);
    assert_eq!(table.label(Name::Number(8)), None);
    assert_eq!(table.label(Name::Number(u64::MAX)), None);
    assert_eq!(table.label(Name::Text("7")), None);
}

#[test]
fn numbers_without_gaps_are_labels() {
    let names = Names::Same(5);
    assert_eq!(names.label(Name::Number(4)), Some(4));
    assert_eq!((names.label(Name::Number(5)), names.label(Name::Text("4"))), (None, None));
    assert_eq!(names.name(3), Name::Number(3));
}

#[test]
fn a_message_that_is_cut_short_is_a_fault() {
    let mut buffer = Vec::new();
    Name::Text("Graz").put(&mut buffer);
    assert!(Table::new(&[buffer[..6].to_vec()]).is_err());
}

proptest! {
    #[test]
    fn every_number_has_one_label(numbers: BTreeSet<u64>, parts in 1_usize..4) {
        let names: Vec<Name> = numbers.iter().map(|number| Name::Number(*number)).collect();
        let table = table(&names);
        prop_assert_eq!(table.labels() as usize, names.len());
        for (label, name) in (0..).zip(&names) {
            prop_assert_eq!(table.label(*name), Some(label));
            prop_assert_eq!(table.name(label), *name);
        }
        let partition = Partition::new(parts);
        for part in 0..parts {
            let kept = table.clone().keep(part, partition);
            for place in 0..partition.places(part, table.labels()) as u32 {
                prop_assert_eq!(kept.name(place), table.name(partition.label(part, place)));
            }
        }
    }

    #[test]
    fn every_text_has_one_label(texts in proptest::collection::btree_set(".{1,20}", 0..60)) {
        let names: Vec<Name> = texts.iter().map(|text| Name::Text(text)).collect();
        let table = table(&names);
        let labels: BTreeSet<u32> = names.iter().filter_map(|name| table.label(*name)).collect();
        prop_assert!(labels.iter().copied().eq(0..names.len() as u32));
        for name in names {
            prop_assert_eq!(table.label(name).map(|label| table.name(label)), Some(name));
        }
    }
}
