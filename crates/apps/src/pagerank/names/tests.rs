//! Tests of `names`.

use super::*;
use crate::pagerank::table::Table;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn table(names: &[Name]) -> Names {
    let mut buffers = vec![Vec::new(); 3];
    (0..).zip(names).for_each(|(index, name)| name.append_to(&mut buffers[index % 3]));
    Names::Table(Table::new(&buffers).expect("complete"))
}

#[test]
fn numbers_keep_their_order() {
    let names = [7, 4_000_000_000, 1 << 63, 0, 268_435_455].map(Name::Number);
    let table = table(&names);
    let labels = names.map(|name| table.label_of(name).expect("known"));
    assert_eq!(labels, [1, 3, 4, 0, 2]);
    assert_eq!(table.label_of(Name::Number(8)), None);
    assert_eq!(table.label_of(Name::Number(u64::MAX)), None);
    assert_eq!(table.label_of(Name::Text("7")), None);
}

#[test]
fn numbers_without_gaps_are_labels() {
    let names = Names::Same(5);
    assert_eq!(names.label_of(Name::Number(4)), Some(4));
    assert_eq!((names.label_of(Name::Number(5)), names.label_of(Name::Text("4"))), (None, None));
    assert_eq!(names.name_of(3), Name::Number(3));
}

#[test]
fn a_message_that_is_cut_short_is_a_fault() {
    let mut buffer = Vec::new();
    Name::Text("Graz").append_to(&mut buffer);
    assert!(Table::new(&[buffer[..6].to_vec()]).is_err());
}

proptest! {
    #[test]
    fn every_number_has_one_label(numbers: BTreeSet<u64>, parts in 1_usize..4) {
        let names: Vec<Name> = numbers.iter().map(|number| Name::Number(*number)).collect();
        let table = table(&names);
        prop_assert_eq!(table.label_bound() as usize, names.len());
        for (label, name) in (0..).zip(&names) {
            prop_assert_eq!(table.label_of(*name), Some(label));
            prop_assert_eq!(table.name_of(label), *name);
        }
        let partition = Partition::new(parts);
        for part in 0..parts {
            let kept = table.clone().keep_part(part, partition);
            for place in 0..partition.count_places(part, table.label_bound()) as u32 {
                prop_assert_eq!(kept.name_at(place), table.name_of(partition.label(part, place)));
            }
        }
    }

    #[test]
    fn every_text_has_one_label(texts in proptest::collection::btree_set(".{1,20}", 0..60)) {
        let names: Vec<Name> = texts.iter().map(|text| Name::Text(text)).collect();
        let table = table(&names);
        let labels: BTreeSet<u32> = names.iter().filter_map(|name| table.label_of(*name)).collect();
        prop_assert!(labels.iter().copied().eq(0..names.len() as u32));
        for name in names {
            prop_assert_eq!(table.label_of(name).map(|label| table.name_of(label)), Some(name));
        }
    }
}
