//! Messages between neighbouring pencils (NAS-95-020, section on LU): two layers of points before each residual, all planes
//! in one message; and in sweeps, the edges of each plane as soon as it is solved.

use crosstalk_comm::{Envelope, Rank};
use crosstalk_core::Fault;
use std::ops::Range;

use super::field::Field;
use super::pencil::{HALO, Pencil};
use crate::flow::VALUES;

/// Messages to the south and to the north, to the east and to the west.
const SOUTHWARD: u32 = 1;
const NORTHWARD: u32 = 2;
const EASTWARD: u32 = 3;
const WESTWARD: u32 = 4;

/// A part of each plane, in ξ and η, and the rank that it goes to or comes from.
type Side = Option<(usize, [Range<usize>; 2])>;

/// Exchanges messages; has memory for them.
#[derive(Debug)]
pub(super) struct Exchange {
    pencil: Pencil,
    outgoing: Vec<f64>,
    incoming: Vec<f64>,
}

impl Exchange {
    pub(super) fn new(pencil: &Pencil) -> Self {
        Exchange { pencil: *pencil, outgoing: Vec::new(), incoming: Vec::new() }
    }

    /// Brings the halo up to date, first in ξ, then in η.
    ///
    /// # Errors
    /// If ranks are gone.
    pub(super) fn halo(&mut self, rank: &mut Rank, u: &mut Field) -> Result<(), Fault> {
        let Pencil { north, south, west, east, .. } = self.pencil;
        let [xi, eta] = self.pencil.own();
        let first = |own: &Range<usize>| own.start..own.start + HALO;
        let last = |own: &Range<usize>| own.end - HALO..own.end;
        let before = |own: &Range<usize>| own.start - HALO..own.start;
        let after = |own: &Range<usize>| own.end..own.end + HALO;
        let in_xi = |rank: Option<usize>, layers| rank.map(|rank| (rank, [layers, eta.clone()]));
        let in_eta = |rank: Option<usize>, layers| rank.map(|rank| (rank, [xi.clone(), layers]));
        self.shift(rank, u, SOUTHWARD, in_xi(south, last(&xi)), in_xi(north, before(&xi)))?;
        self.shift(rank, u, NORTHWARD, in_xi(north, first(&xi)), in_xi(south, after(&xi)))?;
        self.shift(rank, u, EASTWARD, in_eta(east, last(&eta)), in_eta(west, before(&eta)))?;
        self.shift(rank, u, WESTWARD, in_eta(west, first(&eta)), in_eta(east, after(&eta)))
    }

    /// Sends one side of all planes, and receives another.
    fn shift(&mut self, rank: &mut Rank, u: &mut Field, tag: u32, to: Side, from: Side) -> Result<(), Fault> {
        let planes = 0..self.pencil.points;
        let posted = match &from {
            Some((from, _)) => Some(rank.world().irecv(Envelope::exact(*from, tag))?),
            None => None,
        };
        if let Some((to, side)) = &to {
            self.outgoing.clear();
            planes.clone().for_each(|plane| u.pack(side, plane, &mut self.outgoing));
            rank.world().send(*to, tag, &self.outgoing)?;
        }
        let (Some(posted), Some((_, side))) = (posted, from) else { return Ok(()) };
        let each = VALUES * side[0].len() * side[1].len();
        self.incoming.resize(each * planes.len(), 0.0);
        let message = rank.wait(posted)?.message();
        message
            .ok_or_else(|| Fault::attempt("a receive ended without a message"))?
            .elements_into(&mut self.incoming)?;
        for (plane, part) in planes.zip(self.incoming.chunks_exact(each)) {
            u.unpack(&side, plane, part);
        }
        Ok(())
    }

    /// Receives the edges of a plane that a sweep begins at.
    ///
    /// # Errors
    /// If ranks are gone.
    pub(super) fn receive_edges(
        &mut self,
        rank: &mut Rank,
        v: &mut Field,
        plane: usize,
        upper: bool,
    ) -> Result<(), Fault> {
        for (tag, from) in self.edges(upper, true) {
            let Some((from, side)) = from else { continue };
            self.incoming.resize(VALUES * side[0].len() * side[1].len(), 0.0);
            rank.world().recv_into(from, tag, &mut self.incoming)?;
            v.unpack(&side, plane, &self.incoming);
        }
        Ok(())
    }

    /// Sends the edges of a plane that a sweep ends at.
    ///
    /// # Errors
    /// If ranks are gone.
    pub(super) fn send_edges(
        &mut self,
        rank: &mut Rank,
        v: &Field,
        plane: usize,
        upper: bool,
    ) -> Result<(), Fault> {
        for (tag, to) in self.edges(upper, false) {
            let Some((to, side)) = to else { continue };
            self.outgoing.clear();
            v.pack(&side, plane, &mut self.outgoing);
            rank.world().send(to, tag, &self.outgoing)?;
        }
        Ok(())
    }

    /// The edges within the cube that a sweep receives or sends, and their tags, first in ξ, then in η. The lower sweep goes
    /// south and east, the upper one north and west.
    fn edges(&self, upper: bool, received: bool) -> [(u32, Side); 2] {
        let Pencil { north, south, west, east, .. } = self.pencil;
        let [xi, eta] = self.pencil.inner();
        let high = upper == received;
        let edge = |own: Range<usize>| {
            let first = match (high, received) {
                (true, true) => own.end,
                (true, false) => own.end - 1,
                (false, true) => own.start - 1,
                (false, false) => own.start,
            };
            first..first + 1
        };
        let [own_xi, own_eta] = self.pencil.own().map(edge);
        let [in_xi, in_eta] = if high { [south, east] } else { [north, west] };
        let [xi_tag, eta_tag] = if upper { [NORTHWARD, WESTWARD] } else { [SOUTHWARD, EASTWARD] };
        [
            (xi_tag, in_xi.map(|rank| (rank, [own_xi, eta]))),
            (eta_tag, in_eta.map(|rank| (rank, [xi, own_eta]))),
        ]
    }
}
