//! FT, a Fourier transform (RNR-94-007, section 2.2, kernel FT): the diffusion equation ∂u/∂t = α∇²u on a periodic
//! box, solved by transforms along all three axes. Between them ranks transpose: each sends a part of all that it has
//! to each of the others.

mod layout;
mod lines;
mod official;
mod transform;
mod transpose;

use crosstalk_comm::{Communicator, Rank, ReduceOp};
use crosstalk_core::Fault;
use std::f64::consts::PI;
use std::mem::swap;

use crate::check::Check;
use crate::class::Class;
use crate::kernel::{Kernel, Ranks, Timed};
use crate::random::Random;
use layout::Layout;
use lines::{Workspace, evolve_columns, evolve_rows, transform_columns, transform_rows};
use transform::Plan;
use transpose::{join, reverse, split, split_transposed};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "ft",
    ranks: Ranks::PowerOfTwo,
    operations,
    // The spectrum, the field, and what is sent.
    memory: |class| 3.0 * 16.0 * volume(class),
    run,
};

const SEED: u64 = 314_159_265;
/// The diffusivity α.
const DIFFUSIVITY: f64 = 1e-6;
/// How far checksums may be from the official ones.
const TOLERANCE: f64 = 1e-12;
/// How many numbers a checksum adds up.
const SAMPLES: usize = 1024;

/// Points along x, y and z.
fn points(class: Class) -> [usize; 3] {
    class.of([[64, 64, 64], [128, 128, 32], [256, 256, 128], [512, 256, 256], [512, 512, 512]])
}

fn volume(class: Class) -> f64 {
    points(class).iter().product::<usize>() as f64
}

fn operations(class: Class) -> f64 {
    let (volume, steps) = (volume(class), official::checksums(class).len() as f64);
    let log = volume.ln();
    volume * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * steps)
}

/// A rank's part of the problem.
struct Solver {
    layout: Layout,
    /// Ranks that share x or y, and those that share z, where points are divided in pencils.
    groups: Option<[Communicator; 2]>,
    /// For x, y and z.
    plans: [Plan; 3],
    /// The transformed initial state.
    spectrum: Vec<f64>,
    field: Vec<f64>,
    /// What is sent, or came.
    packed: Vec<f64>,
    /// What is left of the waves along each axis.
    decay: [Vec<f64>; 3],
    work: Workspace,
}

impl Solver {
    fn new(class: Class, rank: &mut Rank) -> Result<Self, Fault> {
        let layout = Layout::new(points(class), rank.id(), rank.size())?;
        let groups = if layout.has_slabs() { None } else { Some(groups(&layout, rank)?) };
        let numbers = 2 * layout.size();
        Ok(Solver {
            layout,
            groups,
            plans: layout.points.map(Plan::new),
            spectrum: vec![0.0; numbers],
            field: vec![0.0; numbers],
            packed: vec![0.0; if rank.size() == 1 { 0 } else { numbers }],
            decay: layout.in_spectrum().map(|range| vec![1.0; range.len()]),
            work: Workspace::new(layout.points.into_iter().max().unwrap_or_default()),
        })
    }

    /// From the initial state to its spectrum.
    fn begin(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        self.plans = self.layout.points.map(Plan::new);
        draw(&self.layout, &mut self.field);
        match self.layout.has_slabs() {
            true => self.forward_in_slabs(rank)?,
            false => self.forward_in_pencils(rank)?,
        }
        swap(&mut self.field, &mut self.spectrum);
        Ok(())
    }

    /// The field after so many time steps.
    fn step(&mut self, rank: &mut Rank, steps: usize) -> Result<(), Fault> {
        self.set_decay(steps);
        match self.layout.has_slabs() {
            true => self.back_in_slabs(rank),
            false => self.back_in_pencils(rank),
        }
    }

    /// What is left of the waves along each axis after so many time steps: exp(−4απ²k²t).
    fn set_decay(&mut self, steps: usize) {
        let ranges = self.layout.in_spectrum();
        for ((decay, range), points) in self.decay.iter_mut().zip(ranges).zip(self.layout.points) {
            for (left, at) in decay.iter_mut().zip(range) {
                let wave = (at + points / 2) % points;
                let square = wave.abs_diff(points / 2).pow(2) as f64;
                *left = (-4.0 * DIFFUSIVITY * PI * PI * square * steps as f64).exp();
            }
        }
    }

    fn forward_in_slabs(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        let [nx, ny, nz] = self.layout.points;
        let [x, y, z] = &self.plans;
        for plane in self.field.chunks_exact_mut(2 * nx * ny) {
            transform_rows::<true>(x, plane, &mut self.work);
            transform_columns::<true>(y, plane, nx, &mut self.work);
        }
        let slabs = self.layout.ranks[1];
        if slabs > 1 {
            split(&self.field, &mut self.packed, nz / slabs, slabs);
            rank.world().alltoall_into(&self.packed, &mut self.field)?;
        }
        transform_columns::<true>(z, &mut self.field, nx * ny / slabs, &mut self.work);
        Ok(())
    }

    fn back_in_slabs(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        let [nx, ny, nz] = self.layout.points;
        let [x, y, z] = &self.plans;
        let of_line = |line: usize| self.decay[0][line % nx] * self.decay[1][line / nx];
        evolve_columns(z, &self.spectrum, &mut self.field, of_line, &self.decay[2], &mut self.work);
        let slabs = self.layout.ranks[1];
        if slabs > 1 {
            rank.world().alltoall_into(&self.field, &mut self.packed)?;
            join(&self.packed, &mut self.field, nz / slabs, slabs);
        }
        for plane in self.field.chunks_exact_mut(2 * nx * ny) {
            transform_columns::<false>(y, plane, nx, &mut self.work);
            transform_rows::<false>(x, plane, &mut self.work);
        }
        Ok(())
    }

    fn forward_in_pencils(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        let [nx, ny, nz] = self.layout.points;
        let [across, deep] = self.layout.ranks;
        let (own_x, own_z) = (nx / across, nz / deep);
        transform_rows::<true>(&self.plans[0], &mut self.field, &mut self.work);
        split_transposed(&self.field, &mut self.packed, own_z, ny / across, across);
        self.exchange(rank, 0, own_z * own_x)?;
        transform_rows::<true>(&self.plans[1], &mut self.field, &mut self.work);
        reverse(&self.field, &mut self.packed, own_z, own_x);
        self.exchange(rank, 1, ny / deep * own_x)?;
        transform_rows::<true>(&self.plans[2], &mut self.field, &mut self.work);
        Ok(())
    }

    fn back_in_pencils(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        let [nx, ny, nz] = self.layout.points;
        let [across, deep] = self.layout.ranks;
        let (own_x, own_z) = (nx / across, nz / deep);
        let of_line = |line: usize| self.decay[0][line % own_x] * self.decay[1][line / own_x];
        evolve_rows(&self.plans[2], &self.spectrum, &mut self.field, of_line, &self.decay[2], &mut self.work);
        reverse(&self.field, &mut self.packed, ny / deep, own_x);
        self.exchange(rank, 1, own_z * own_x)?;
        transform_rows::<false>(&self.plans[1], &mut self.field, &mut self.work);
        split_transposed(&self.field, &mut self.packed, own_z, own_x, across);
        self.exchange(rank, 0, own_z * (ny / across))?;
        transform_rows::<false>(&self.plans[0], &mut self.field, &mut self.work);
        Ok(())
    }

    /// Sends the parts of `packed` to the ranks of a group, and joins theirs to whole rows of the field.
    fn exchange(&mut self, rank: &mut Rank, group: usize, rows: usize) -> Result<(), Fault> {
        let Some(groups) = &self.groups else { return Ok(()) };
        rank.within(&groups[group]).alltoall_into(&self.packed, &mut self.field)?;
        join(&self.field, &mut self.packed, rows, self.layout.ranks[group]);
        swap(&mut self.field, &mut self.packed);
        Ok(())
    }

    /// The checksum of the field, which the first rank has.
    fn checksum(&self, rank: &mut Rank) -> Result<[f64; 2], Fault> {
        let ranges = self.layout.in_space();
        let [nx, ny, nz] = self.layout.points;
        let mut sum = [0.0; 2];
        for sample in 1..=SAMPLES {
            let at = [sample % nx, 3 * sample % ny, 5 * sample % nz];
            if at.iter().zip(&ranges).all(|(at, range)| range.contains(at)) {
                let [x, y, z] = [0, 1, 2].map(|axis| at[axis] - ranges[axis].start);
                let index = 2 * ((z * ranges[1].len() + y) * nx + x);
                sum[0] += self.field[index];
                sum[1] += self.field[index + 1];
            }
        }
        let volume = (nx * ny * nz) as f64;
        let mut sum = sum.map(|part| part / volume);
        rank.world().reduce(0, &mut sum, ReduceOp::Sum)?;
        Ok(sum)
    }
}

/// The ranks that share x or y with this one, and those that share z.
fn groups(layout: &Layout, rank: &mut Rank) -> Result<[Communicator; 2], Fault> {
    let [across, deep] = layout.own;
    let mut group = |color: usize, key: usize| {
        let group = rank.world().split(Some(color as u32), key as i64)?;
        group.ok_or_else(|| Fault::attempt("a rank is in none of the groups"))
    };
    let sharing_z = group(across, deep)?;
    Ok([group(deep, across)?, sharing_z])
}

/// The initial state: random numbers, which follow each other along x, then y, then z.
fn draw(layout: &Layout, field: &mut [f64]) {
    let [nx, ny, _] = layout.points;
    let [_, y, z] = layout.in_space();
    for (plane, z) in field.chunks_exact_mut(2 * nx * y.len()).zip(z) {
        let mut random = Random::new(SEED);
        random.skip(2 * (nx * (z * ny + y.start)) as u64);
        random.fill(plane);
    }
}

fn run(class: Class, rank: &mut Rank) -> Result<Timed, Fault> {
    let mut solver = Solver::new(class, rank)?;
    // Before time counts, as in the reports: what follows is done once, up to the first transform. All of it counts.
    solver.begin(rank)?;
    let official = official::checksums(class);
    let mut found = Vec::with_capacity(official.len());
    rank.restart_clock()?;
    solver.begin(rank)?;
    for steps in 1..=official.len() {
        solver.step(rank, steps)?;
        found.push(solver.checksum(rank)?);
    }
    let timed = Timed::end(rank)?;
    if rank.id() != 0 {
        // Only the first rank has the sums.
        return Ok(timed);
    }
    let checks = found.iter().zip(official).enumerate().flat_map(|(step, (found, official))| {
        ["real", "imaginary"].into_iter().enumerate().map(move |(at, part)| {
            let what = format!("the {part} part of checksum {}", step + 1);
            Check::new(what, found[at], official[at], TOLERANCE)
        })
    });
    Ok(timed.with(checks.collect()))
}
