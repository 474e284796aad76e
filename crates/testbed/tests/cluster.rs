//! Clusters from a user's view: agents answer, nodes are isolated from each other and from the
//! host, links keep their rate, and nothing is left behind.

#[path = "support/descendants.rs"]
mod descendants;
#[path = "support/specs.rs"]
mod specs;
mod support;

use crosstalk_core::testbed::{Cluster, Link, Testbed};
use crosstalk_core::units::BitRate;
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_host::process::Identity;
use crosstalk_host::sysctl;
use crosstalk_testbed::{Launcher, LocalTestbed, VirtualTestbed, with_scale_advice};
use descendants::descendants;
use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use support::AgentSession;

fn main() -> ExitCode {
    if let Some(code) = support::hidden_verb() {
        return code;
    }
    if std::env::args().nth(1).as_deref() == Some(FORBIDDEN) {
        return create_where_it_is_forbidden();
    }
    if !VirtualTestbed::new(Launcher::current()).needs()[0].is_found() {
        eprintln!(
            "skipped: no virtual clusters here: {:?}",
            VirtualTestbed::new(Launcher::current()).needs()
        );
        return specs::run(&SPECS[..LOCAL]);
    }
    specs::run(SPECS)
}

/// The number of specifications that need no namespaces.
const LOCAL: usize = 4;

const SPECS: &[specs::Spec] = &[
    ("local_agents_answer_and_come_again", local_agents_answer_and_come_again),
    ("local_links_are_not_shaped", local_links_are_not_shaped),
    ("a_program_without_the_verbs_is_a_fault", a_program_without_the_verbs_is_a_fault),
    ("a_local_cluster_takes_its_agents_children_along", a_local_cluster_takes_its_agents_children_along),
    ("nodes_are_apart", nodes_are_apart),
    ("an_agent_comes_again_on_a_clean_node", an_agent_comes_again_on_a_clean_node),
    ("nodes_reach_each_other", nodes_reach_each_other),
    ("more_pairs_of_nodes_talk_than_the_host_s_table_holds", more_pairs_than_the_host_s_table_holds),
    ("a_shaped_link_takes_the_wire_s_time", a_shaped_link_takes_the_wire_s_time),
    (
        "a_rate_beyond_the_machine_is_refused_with_one_that_it_holds",
        a_rate_beyond_the_machine_is_refused_with_one_that_it_holds,
    ),
    ("a_killed_node_is_made_anew", a_killed_node_is_made_anew),
    ("a_killed_holder_is_a_fault_at_once", a_killed_holder_is_a_fault_at_once),
    ("the_host_s_network_is_untouched", the_host_s_network_is_untouched),
    ("clusters_stand_side_by_side", clusters_stand_side_by_side),
    ("a_refusal_names_its_setting_and_what_still_works", a_refusal_names_its_setting_and_what_still_works),
];

fn create(nodes: usize) -> Box<dyn Cluster> {
    VirtualTestbed::new(Launcher::current()).create(nodes).expect("is created")
}

fn start_agent(cluster: &mut Box<dyn Cluster>, node: usize) -> AgentSession {
    cluster.start_agent(node, 0).expect("starts").into()
}

fn kill(name: &str) {
    let (pid, _) = descendants().into_iter().find(|(_, n)| n == name).expect("runs");
    let status = Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(status.expect("kill starts").success());
}

fn assert_nothing_runs() {
    let began = Instant::now();
    while !descendants().is_empty() && began.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(descendants(), [], "something is left behind");
    let folder = crosstalk_host::ledger::folder().expect("is there");
    let own = format!("{}-", std::process::id());
    let left = fs::read_dir(folder).expect("reads").flatten();
    assert_eq!(left.filter(|e| e.file_name().to_string_lossy().starts_with(&own)).count(), 0);
}

fn local_agents_answer_and_come_again() {
    let mut cluster = LocalTestbed::new(Launcher::current()).create(3).expect("is created");
    let addresses: BTreeSet<_> = (0..3).map(|node| cluster.address(node)).collect();
    assert_eq!(addresses.len(), 3);
    let mut agents: Vec<_> = (0..3).map(|node| start_agent(&mut cluster, node)).collect();
    agents.iter_mut().for_each(|agent| assert_eq!(agent.ask("hello"), "hello"));
    assert_eq!(agents[1].ask("die"), "", "the stream of a dead agent ends");
    assert_eq!(start_agent(&mut cluster, 1).ask("hello"), "hello");
    assert_eq!(agents[2].ask("hello"), "hello", "the others live on");
    drop(cluster);
    assert_nothing_runs();
}

fn local_links_are_not_shaped() {
    let mut cluster = LocalTestbed::new(Launcher::current()).create(2).expect("is created");
    cluster.shape(Link::Unshaped).expect("is so already");
    let fault = cluster.shape(Link::Rate(BitRate(1e9))).expect_err("cannot be");
    assert!(fault.remedy.expect("a remedy").contains("--testbed virtual"));
}

fn a_program_without_the_verbs_is_a_fault() {
    for program in ["/bin/true", "/no/such/program"] {
        let fault = LocalTestbed::new(Launcher::of_program(program)).create(1).err().expect("cannot work");
        assert!(fault.message.contains("cannot start the reaper"), "{fault}");
    }
}

fn a_local_cluster_takes_its_agents_children_along() {
    let mut cluster = LocalTestbed::new(Launcher::current()).create(1).expect("is created");
    let mut agent = start_agent(&mut cluster, 0);
    let orphan: u32 = agent.ask("leave a child").parse().expect("a number");
    assert_eq!(agent.ask("die"), "");
    let orphan = Identity::of(orphan).expect("runs");
    let runs = || orphan.is_alive();
    assert!(runs(), "it outlives its agent");
    drop(cluster);
    let began = Instant::now();
    while runs() && began.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(!runs(), "but not the cluster");
}

fn nodes_are_apart() {
    let mut cluster = create(2);
    for node in 0..2 {
        let mut agent = start_agent(&mut cluster, node);
        assert_eq!(agent.ask("host"), format!("node{node}"));
        assert_eq!(agent.ask("processes"), "2", "the node's first process and the agent");
        assert!(["cubic", "reno"].contains(&agent.ask("congestion").as_str()));
    }
    assert!(!cluster.absences().is_empty());
    drop(cluster);
    assert_nothing_runs();
}

fn an_agent_comes_again_on_a_clean_node() {
    let mut cluster = create(1);
    let mut agent = start_agent(&mut cluster, 0);
    agent.ask("leave a child");
    assert_eq!(agent.ask("processes"), "3");
    assert_eq!(agent.ask("die"), "");
    for _ in 0..2 {
        // The second time the former agent still lives.
        assert_eq!(start_agent(&mut cluster, 0).ask("processes"), "2");
    }
}

/// Seconds that `bytes` take from node 0 to node 1, including the acknowledgement.
fn transfer(cluster: &dyn Cluster, from: &mut AgentSession, to: &mut AgentSession, bytes: usize) -> f64 {
    let port = to.ask("listen");
    let seconds = from.ask(&format!("send {}:{port} {bytes}", cluster.address(1)));
    assert_eq!(to.ask("taken"), bytes.to_string());
    seconds.parse().expect("a number")
}

fn nodes_reach_each_other() {
    let mut cluster = create(2);
    let (mut from, mut to) = (start_agent(&mut cluster, 0), start_agent(&mut cluster, 1));
    assert!(transfer(&*cluster, &mut from, &mut to, 1 << 20) < 2.0);
}

/// 64 KiB at 62.5 Mbit/s: 46 frames of 1,514 B take 8.9 ms, after a pause too.
fn a_shaped_link_takes_the_wire_s_time() {
    let mut cluster = create(2);
    let (mut from, mut to) = (start_agent(&mut cluster, 0), start_agent(&mut cluster, 1));
    let notes = cluster.shape(Link::Rate(BitRate(62.5e6))).expect("shapes");
    assert!(notes[0].contains("62.5 Mbit/s"), "{notes:?}");
    let wire = 46.0 * 1_514.0 * 8.0 / 62.5e6;
    let took = median(|| transfer(&*cluster, &mut from, &mut to, 64 << 10));
    assert!((0.93..1.3).contains(&(took / wire)), "took {took} s, the wire takes {wire} s");
    cluster.shape(Link::Unshaped).expect("lets go");
    let took = median(|| transfer(&*cluster, &mut from, &mut to, 64 << 10));
    assert!(took < wire / 2.0, "took {took} s without shaping");
}

fn median(mut measure: impl FnMut() -> f64) -> f64 {
    let mut all: Vec<_> = (0..9).map(|_| measure()).collect();
    all.sort_by(f64::total_cmp);
    all[4]
}

fn a_rate_beyond_the_machine_is_refused_with_one_that_it_holds() {
    let mut cluster = create(2);
    let fault = cluster.shape(Link::Rate(BitRate(10e9))).expect_err("no timer of a host is that fine");
    assert!(fault.message.contains("expected links of 10.0 Gbit/s"), "{fault}");
    let remedy = with_scale_advice(&mut *cluster, BitRate(10e9), fault).remedy.expect("has one");
    // A machine that other programs load may keep none of the rates.
    if let Some((_, scale)) = remedy.split_once("--scale ") {
        let scale: f64 = scale.split(':').next().and_then(|s| s.parse().ok()).expect("a number");
        cluster.shape(Link::Rate(BitRate(10e9 / scale))).expect("keeps the advised rate");
    }
    assert!(cluster.shape(Link::Rate(BitRate(0.0))).is_err());
}

fn a_killed_node_is_made_anew() {
    let mut cluster = create(2);
    cluster.shape(Link::Rate(BitRate(62.5e6))).expect("shapes");
    let mut from = start_agent(&mut cluster, 0);
    let mut agent = start_agent(&mut cluster, 1);
    kill("crosstalk-1");
    assert_eq!(agent.answer(), "", "its agent died with it");
    let mut to = start_agent(&mut cluster, 1);
    assert_eq!(to.ask("host"), "node1");
    assert!(transfer(&*cluster, &mut from, &mut to, 64 << 10) > 0.008, "and its link is shaped again");
}

/// 40 nodes are 1,560 pairs; by default the neighbour table of a host holds 1,024.
fn more_pairs_than_the_host_s_table_holds() {
    let mut cluster = create(40);
    let addresses: Vec<_> = (0..40).map(|node| cluster.address(node).to_string()).collect();
    for (node, own) in addresses.iter().enumerate() {
        let peers: Vec<_> = addresses.iter().filter(|address| *address != own).cloned().collect();
        let mut agent = start_agent(&mut cluster, node);
        assert_eq!(agent.ask(&format!("knock {}", peers.join(" "))), "all answer", "node {node}");
    }
}

fn a_killed_holder_is_a_fault_at_once() {
    let mut cluster = create(2);
    let mut agent = start_agent(&mut cluster, 0);
    kill("crosstalk-hold");
    assert_eq!(agent.answer(), "", "the cluster died with its holder");
    let began = Instant::now();
    let fault = cluster.start_agent(1, 0).err().expect("nobody is there");
    assert!(fault.message.contains("has ended"), "{fault}");
    drop(cluster);
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_nothing_runs();
}

fn the_host_s_network_is_untouched() {
    let before = specs::traces_on_host();
    let mut cluster = create(3);
    cluster.shape(Link::Rate(BitRate(10e6))).expect("shapes");
    assert_eq!(specs::traces_on_host(), before);
    drop(cluster);
    assert_eq!(specs::traces_on_host(), before);
}

/// The verb of [`create_where_it_is_forbidden`].
const FORBIDDEN: &str = "forbidden";

/// Forbids further namespaces within a user namespace, and prints the fault of a cluster there.
fn create_where_it_is_forbidden() -> ExitCode {
    namespace::enter_as_user(Kinds::NET).expect("a user namespace");
    for knob in ["user.max_user_namespaces", "user.max_net_namespaces"] {
        sysctl::write(knob, "0").expect("is root here");
    }
    let fault = VirtualTestbed::new(Launcher::current()).create(1).err().expect("is refused");
    println!("{fault}");
    let mut local = LocalTestbed::new(Launcher::current()).create(1).expect("needs no namespaces");
    println!("local says {}", start_agent(&mut local, 0).ask("hello"));
    ExitCode::SUCCESS
}

fn a_refusal_names_its_setting_and_what_still_works() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new("/proc/self/exe");
    let output = command.arg(FORBIDDEN).env("XDG_RUNTIME_DIR", folder.path()).output().expect("starts");
    let said = String::from_utf8_lossy(&output.stdout);
    for part in ["user.max_user_namespaces: ", "sudo sysctl -w user.max_user_namespaces=", "local says hello"]
    {
        assert!(
            said.contains(part),
            "{part} is missing in: {said}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

fn clusters_stand_side_by_side() {
    let (mut one, mut other) = (create(2), create(2));
    assert_eq!(one.address(0), other.address(0), "the same addresses in different namespaces");
    assert_eq!(start_agent(&mut one, 0).ask("hello"), "hello");
    drop(one);
    assert_eq!(start_agent(&mut other, 0).ask("hello"), "hello");
}
