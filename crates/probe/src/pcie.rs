//! The time that the processor waits for a PCI Express device: reading its configuration space, as
//! `lspci` does, and with `mapped` a register that is mapped into memory.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `access_time` | s | the read of the device without the system call: `config_read` − `call_time` |
//! | `config_read` | s | distribution: pread(2) of vendor and device from the configuration space |
//! | `call_time` | s | distribution: pread(2) in the same file system, answered from memory |
//! | `register_read` | s | distribution: a load from the first register in memory (with `mapped`) |
//!
//! All have the label `device`. In a virtual machine the hypervisor answers each access to
//! configuration space.
//!
//! Reading the first four bytes of configuration space changes nothing. Reading a register may
//! change a device (a status that is cleared by reading): use `mapped` for devices that you know.

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::Prepared;
use crosstalk_core::units::Seconds;
use crosstalk_core::value::{Params, parameter_fault};
use crosstalk_host::pci::{Device, devices};

use super::arguments::{PIN_ONE, check_duration, parse_one_pin};
use super::pin::pin;
use super::readings::Readings;
use super::{clock, one_node};
use crosstalk_work::Declared;
use crosstalk_work::peer::Deadline;

const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("device", "all", "`all`, or one by its address, 0000:00:03.0"),
    Parameter::new("mapped", "false", "read a mapped register, too: of one device that you know"),
    Parameter::new("duration", "200 ms", "of each device"),
    PIN_ONE,
]]);

/// The workload `pcie`: how long reads from a PCIe device take.
pub const PCIE: Declared<Spec> = Declared {
    name: "pcie",
    title: "Time of a read from each PCI Express device",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| {
        let metrics = ["access_time", "config_read", "call_time", "register_read"];
        let metrics = metrics.map(|name| Metric::new(name, "s", Better::Lower)).to_vec();
        let count = if spec.device.is_some() { 1 } else { devices().len() };
        one_node::deployment(metrics, spec.duration.0 * count as f64 * if spec.mapped { 2.0 } else { 1.0 })
    },
    needs: |_| vec![need()],
    prepare: |spec, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        one_node::prepare(part, move |until| measure(&spec, until))
    },
};

fn need() -> Need {
    match devices().len() {
        0 => Need::missing(
            "PCI devices",
            "waiting for PCI devices cannot be measured",
            "use a machine with PCI devices; in a container, mount /sys",
        ),
        n => Need::found("PCI devices", format!("{n} of them")),
    }
}

/// Which device a probe of PCIe reads from, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    device: Option<String>,
    mapped: bool,
    duration: Seconds,
    pin: Option<usize>,
}

impl Spec {
    fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let device = Some(params.text("device", "all")?).filter(|device| *device != "all").map(String::from);
        let mapped = params.flag("mapped", false)?;
        if mapped && device.is_none() {
            return Err(parameter_fault(
                "mapped",
                "reading a register may change a device: name the device".into(),
            )
            .remedy("name it, such as device = \"0000:00:03.0\""));
        }
        let duration = check_duration("duration", params.seconds("duration", Seconds(0.2))?)?;
        Ok(Spec { device, mapped, duration, pin: parse_one_pin(params)? })
    }
}

fn measure(spec: &Spec, until: &Deadline) -> Result<Readings, Fault> {
    let _pinned = pin(spec.pin)?;
    let chosen = match &spec.device {
        Some(address) => vec![Device::find(address).map_err(|fault| fault.of_parameter("device"))?],
        None => devices(),
    };
    if chosen.is_empty() {
        return Err(Fault::environment("this host shows no PCI devices").remedy("in a container, mount /sys"));
    }
    let mut readings = Readings::new();
    for device in &chosen {
        readings.extend(measure_device(device, spec, until)?);
    }
    Ok(readings)
}

fn measure_device(device: &Device, spec: &Spec, until: &Deadline) -> Result<Readings, Fault> {
    let configuration = device.open_configuration()?;
    let failed = |e: std::io::Error| {
        Fault::attempt(format!("the device cannot be read: {e}")).at(device.address.clone())
    };
    let (mut reads, mut calls) = (Histogram::default(), Histogram::default());
    let end = clock::now() + (spec.duration.0 * 1e9) as u64;
    // In turn, so that disturbances of the machine affect both.
    while clock::now() < end {
        reads.record(timed(|| configuration.read().map(drop)).map_err(failed)?);
        calls.record(timed(|| configuration.read_cached().map(drop)).map_err(failed)?);
        until.check("the devices to be read")?;
    }
    let median = |histogram: &Histogram| histogram.quantile(0.5).unwrap_or(0.0) * 1e-9;
    let access = median(&reads) - median(&calls);
    let n = reads.count();
    let mut readings = vec![
        (Reading::value("access_time", access, Origin::Computed), n),
        (Reading::histogram("config_read", reads, Origin::Measured), n),
        (Reading::histogram("call_time", calls, Origin::Measured), n),
    ];
    if spec.mapped {
        let registers = device.map_registers()?;
        let mut loads = Histogram::default();
        let end = clock::now() + (spec.duration.0 * 1e9) as u64;
        while clock::now() < end {
            let begin = clock::now();
            std::hint::black_box(registers.read());
            loads.record(clock::now() - begin);
            until.check("the device to be read")?;
        }
        let n = loads.count();
        readings.push((Reading::histogram("register_read", loads, Origin::Measured), n));
    }
    let labelled = |(reading, n): (Reading, u64)| {
        (reading.label("device", &device.address).label("kind", device.kind()), n)
    };
    Ok(readings.into_iter().map(labelled).collect())
}

/// The time of `work` in nanoseconds.
#[inline]
fn timed(work: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<u64> {
    let begin = clock::now();
    work()?;
    Ok(clock::now() - begin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn reading_a_device_takes_longer_than_the_call_alone() {
        if devices().is_empty() {
            eprintln!("skipped: this host shows no PCI devices");
            return;
        }
        let never = AtomicBool::new(false);
        let spec = Spec::from_params(&Params::default().with("duration", "20 ms")).expect("reads");
        let readings = measure(&spec, &Deadline::new(Seconds(60.0), &never)).expect("measures");
        assert_eq!(readings.len(), devices().len() * 3);
        for (reading, _) in readings.iter().filter(|(reading, _)| reading.metric == "access_time") {
            assert!(reading.number().is_some_and(|time| time > 0.0), "{reading:?}");
        }
    }

    #[test]
    fn registers_are_read_of_a_named_device_only() {
        let fault = Spec::from_params(&Params::default().with("mapped", true)).expect_err("refused");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("device =")));
        let never = AtomicBool::new(false);
        let spec = Spec::from_params(&Params::default().with("device", "ffff:00:00.0")).expect("reads");
        assert!(measure(&spec, &Deadline::new(Seconds(1.0), &never)).is_err());
    }
}
