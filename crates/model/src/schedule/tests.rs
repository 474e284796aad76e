use super::*;
use crate::disk::Access;
use crate::network::{Call, Operation, Pattern, Sizes, TimeUse};
use codec::{put_call_site, put_operation};
use crosstalk_core::mpi;
use proptest::prelude::*;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..300, any::<u64>()]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..300, any::<u32>()]
}

fn sizes() -> impl Strategy<Value = Sizes> {
    prop_oneof![
        (number(), small()).prop_map(|(elements, width)| Sizes::Vector { elements, width }),
        number().prop_map(Sizes::Equal),
        number().prop_map(Sizes::Own),
        prop::collection::vec(number(), 0..5).prop_map(|each| Sizes::Each(each.into())),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    let request = || prop::option::of(small());
    let requests = || prop::collection::vec(small(), 0..5);
    // One more than the largest number has no code of 32 bits.
    let or_any = || prop::option::of(0_u32..u32::MAX);
    prop_oneof![
        (0_usize..3, number()).prop_map(|(used, nanos)| Operation::Compute {
            used: [TimeUse::Compute, TimeUse::Parallel, TimeUse::Serialise][used],
            nanos
        }),
        (any::<bool>(), number()).prop_map(|(seek, bytes)| Operation::Spill {
            access: if seek { Access::Seek } else { Access::Sequential },
            bytes
        }),
        (small(), small(), small(), number(), request()).prop_map(
            |(communicator, to, tag, bytes, request)| Operation::Send {
                communicator,
                to,
                tag,
                bytes,
                request
            }
        ),
        (small(), or_any(), or_any(), request()).prop_map(|(communicator, from, tag, request)| {
            Operation::Receive { communicator, pattern: Pattern { from, tag }, request }
        }),
        requests().prop_map(|all| Operation::WaitAll(all.into())),
        requests().prop_map(|all| Operation::WaitAny(all.into())),
        small().prop_map(Operation::Test),
        (0_usize..13, small(), small(), sizes()).prop_map(|(which, communicator, root, sizes)| {
            let operation = mpi::Operation::ALL[which];
            Operation::Collective(Box::new(Call { operation, communicator, root, sizes }))
        }),
        (number(), prop::collection::vec(small(), 0..5))
            .prop_map(|(identity, members)| Operation::Define { identity, members: members.into() }),
        (0_usize..2).prop_map(|which| [Operation::Restart, Operation::Account][which].clone()),
    ]
}

/// Only what has a call site carries one.
fn with_call_site(operation: &Operation, site: u32) -> u32 {
    match operation {
        Operation::Compute { .. } | Operation::Spill { .. } => 0,
        _ => site,
    }
}

fn schedule(ranks: &[Vec<Operation>]) -> Schedule {
    let code = |operations: &Vec<Operation>| {
        let mut bytes = Vec::new();
        put_call_site(&mut bytes, "main.rs:7");
        operations.iter().for_each(|operation| put_operation(&mut bytes, operation, 0));
        bytes
    };
    Schedule {
        title: "a test".into(),
        combine: as_recorded(Seconds(0.37e-9)),
        operations: ranks.iter().map(code).collect(),
        clocks: vec![TimeBreakdown::default(); ranks.len()],
    }
}

proptest! {
    #[test]
    fn operations_are_the_same_after_the_wire(all in prop::collection::vec((operation(), small()), 0..40)) {
        let mut bytes = Vec::new();
        put_call_site(&mut bytes, "here");
        all.iter().for_each(|(operation, site)| put_operation(&mut bytes, operation, *site));
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!(reader.item(), Ok(Some(Item::CallSite("here".into()))));
        for (operation, site) in &all {
            let site = with_call_site(operation, *site);
            prop_assert_eq!(reader.item(), Ok(Some(Item::Operation(operation.clone(), site))));
        }
        prop_assert!(reader.is_at_end());
    }

    #[test]
    fn an_item_in_part_is_none_and_is_read_again(operation in operation(), site in small()) {
        let mut bytes = Vec::new();
        put_operation(&mut bytes, &operation, site);
        for end in 0..bytes.len() {
            let mut reader = Reader::new(&bytes[..end]);
            prop_assert_eq!(reader.item(), Ok(None));
            prop_assert_eq!(reader.position(), 0);
        }
    }

    #[test]
    fn a_file_is_the_same_after_a_disk(ranks in prop::collection::vec(prop::collection::vec(operation(), 0..9), 1..4)) {
        let schedule = schedule(&ranks);
        prop_assert_eq!(Schedule::from_bytes(&schedule.to_bytes()), Ok(schedule));
    }

    #[test]
    fn a_file_that_was_cut_short_or_changed_is_refused(at in 0_usize..200, change in 1_u8..255) {
        let whole = schedule(&[vec![Operation::Test(4); 20], vec![Operation::Account; 9]]).to_bytes();
        let at = at % whole.len();
        prop_assert!(Schedule::from_bytes(&whole[..at]).is_err());
        let mut changed = whole;
        changed[at] ^= change;
        prop_assert!(Schedule::from_bytes(&changed).is_err());
    }

    #[test]
    fn noise_is_a_fault_and_not_a_panic(noise in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut reader = Reader::new(&noise);
        while let Ok(Some(_)) = reader.item() {}
        let mut file = b"crosstalk schedule 1\n".to_vec();
        file.extend(noise);
        let check = crc32fast::hash(&file).to_le_bytes();
        file.extend(check);
        let _ = Schedule::from_bytes(&file);
    }
}

#[test]
fn another_version_is_named() {
    let fault = Schedule::from_bytes(b"crosstalk schedule 9\nmore").expect_err("another");
    assert!(fault.to_string().contains("expected version 1, found 9"), "{fault}");
    assert!(Schedule::from_bytes(b"hello").expect_err("none").to_string().contains("does not begin"));
}

#[test]
fn its_operations_are_counted() {
    assert_eq!(schedule(&[vec![Operation::Account; 9], vec![Operation::Restart]]).count(), 10);
}
