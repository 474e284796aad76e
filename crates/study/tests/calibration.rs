//! The fabrics stream as published: `docs/explanation/calibration.md`, computed.

use crosstalk_study::Catalogues;
use crosstalk_study::file::Published;

/// A stream's bandwidth in bits a second: LogGOPS gives a message of `s` bytes
/// the sender's CPU for `o + (s − 1)·O` and the NIC for `g + (s − 1)·G`, and the
/// longer of the two sets the pace.
fn bandwidth(catalogues: &Catalogues, system: &str, size: u64) -> f64 {
    let (system, network) = catalogues.find_system(system).expect("is bundled");
    let fabric = catalogues.find_fabric(&network.across).expect("is bundled").clone();
    let fabric = fabric.on_nodes(system.node.speed);
    let costs = fabric.costs_for(size);
    let more = (size - 1) as f64;
    let cpu = costs.overhead.0 + more * costs.overhead_per_byte.0;
    let nic = costs.gap.0 + more * costs.gap_per_byte.0;
    size as f64 * 8.0 / cpu.max(nic)
}

/// Emulated over published ratio of the systems in `id`.
fn agreement(id: &str, system: &str, over: &str, size: u64) -> f64 {
    let catalogues = Catalogues::bundled();
    let published = catalogues.published(id).and_then(|value| value.ratio()).expect("is a ratio");
    bandwidth(&catalogues, system, size) / bandwidth(&catalogues, over, size) / published
}

#[test]
fn the_ratios_that_set_parameters_are_met() {
    for (system, size) in [
        ("kosmos-srio", 128),
        ("kosmos-srio", 512),
        ("kosmos-srio", 4096),
        ("kosmos-ethernet", 128),
        ("kosmos-ethernet", 512),
    ] {
        let id = format!("kosmos/bandwidth/{system}-over-microblade/{size}");
        let agreement = agreement(&id, system, "microblade", size);
        assert!((agreement - 1.0).abs() < 0.001, "{id}: {agreement}");
    }
}

#[test]
fn the_ratio_that_set_nothing_is_near() {
    let moonshot =
        agreement("kosmos/bandwidth/kosmos-srio-over-moonshot/4096", "kosmos-srio", "moonshot", 4096);
    assert!((moonshot - 1.0).abs() < 0.05, "{moonshot}");
}

#[test]
fn srio_is_ahead_of_moonshot_at_every_size_and_implies_7_4_gigabits() {
    let catalogues = Catalogues::bundled();
    for size in [64, 128, 256, 512, 1024, 2048, 4096] {
        let srio = bandwidth(&catalogues, "kosmos-srio", size);
        assert!(srio > bandwidth(&catalogues, "moonshot", size), "{size}");
    }
    let implied = bandwidth(&catalogues, "kosmos-srio", 4096);
    assert!((implied / 7.4e9 - 1.0).abs() < 0.01, "{implied}");
}

#[test]
fn ethernet_costs_follow_from_rate_and_framing() {
    let catalogues = Catalogues::bundled();
    for fabric in ["ethernet-1g", "ethernet-2.5g", "ethernet-10g"].map(|name| catalogues.find_fabric(name)) {
        let fabric = fabric.expect("is bundled");
        let framing = 1538.0 * 8.0 / 1448.0 / fabric.rate.0;
        assert!((fabric.costs.gap_per_byte.0 / framing - 1.0).abs() < 1e-3, "{}", fabric.name);
        let kernel = 2.0 * fabric.costs.overhead.0 + fabric.costs.latency.0;
        assert!((kernel / 25e-6 - 1.0).abs() < 0.01, "{}: {kernel}", fabric.name);
    }
}

#[test]
fn above_4_kib_the_rate_is_that_of_4_kib() {
    let catalogues = Catalogues::bundled();
    for system in ["moonshot", "microblade", "kosmos-ethernet", "kosmos-srio"] {
        let at_4_kib = bandwidth(&catalogues, system, 4096);
        for size in [8192, 16_384, 1 << 20] {
            let apart = bandwidth(&catalogues, system, size) / at_4_kib - 1.0;
            assert!(apart.abs() < 0.001, "{system}, {size} B: {apart}");
        }
    }
}

#[test]
fn every_bundled_claim_of_a_published_size_has_a_margin() {
    let catalogues = Catalogues::bundled();
    for (name, text) in crosstalk_study::bundled_studies() {
        let study = crosstalk_study::parse(text, name).expect("reads");
        for (claim, written) in &study.claim {
            let is_size = match &written.published {
                Some(Published::Id(id)) => {
                    catalogues.published(id).is_some_and(|value| value.ratio().is_some())
                }
                Some(Published::Number(_)) => true,
                None => false,
            };
            let aside = [&written.calibration, &written.implied, &written.not_comparable];
            let aside = aside.into_iter().any(Option::is_some);
            assert!(!is_size || aside || written.margin.is_some(), "{name}: {claim} has no margin");
        }
    }
}
