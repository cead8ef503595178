//! Regions: random programs, against the same program run in order.

use crate::common::{Rng, each};
use myriad::flow::Graph;
use myriad::flow::region::{Region, Tile, TileMut};
use std::ops::Range;

const CELLS: usize = 3;
const LEN: usize = 12;
const COLUMNS: usize = 5;
const SIZE: usize = 2;
const MATRIX: usize = 4 * COLUMNS;

/// What a task uses, and whether it writes that.
#[derive(Debug, Clone)]
struct Use {
    what: What,
    writes: bool,
}

#[derive(Debug, Clone)]
enum What {
    Cell(usize),
    Slice(Range<usize>),
    /// The parts are below the diagonal, on it and above it.
    Tile(usize, usize, Range<usize>),
}

#[derive(Debug)]
struct Task {
    uses: Vec<Use>,
    yields: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Memory {
    cells: Vec<u64>,
    slice: Vec<u64>,
    matrix: Vec<u64>,
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

impl Use {
    /// They share something that one of them writes.
    fn conflicts(&self, other: &Use) -> bool {
        let shares = match (&self.what, &other.what) {
            (What::Cell(a), What::Cell(b)) => a == b,
            (What::Slice(a), What::Slice(b)) => meet(a, b),
            (What::Tile(i, j, a), What::Tile(k, l, b)) => (i, j) == (k, l) && meet(a, b),
            _ => false,
        };
        shares && (self.writes || other.writes)
    }

    /// The elements of the matrix: row by row those whose part is used.
    fn elements(i: usize, j: usize, parts: &Range<usize>) -> Vec<usize> {
        let part = |row: usize, column: usize| match column.cmp(&row) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => 1,
            std::cmp::Ordering::Greater => 2,
        };
        let columns = SIZE.min(COLUMNS - j * SIZE);
        let all = (0..SIZE).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let used = all.filter(|&(row, column)| parts.contains(&part(row, column)));
        used.map(|(row, column)| (i * SIZE + row) * COLUMNS + j * SIZE + column).collect()
    }
}

fn below(rng: &mut Rng, n: usize) -> usize {
    rng.below(n as u64) as usize
}

fn range(rng: &mut Rng) -> Range<usize> {
    let (a, b) = (below(rng, LEN + 1), below(rng, LEN + 1));
    match below(rng, 8) {
        0 => 0..LEN,
        1 => a..a,
        2 => a..(a + 1).min(LEN),
        _ => a.min(b)..a.max(b),
    }
}

fn program(seed: u64) -> Vec<Task> {
    let mut rng = Rng(seed);
    let rng = &mut rng;
    let tasks = 1 + below(rng, 24);
    // (Some programs use one kind of data only, and so more closely.)
    let kinds = 1 + below(rng, 7);
    let mut task = || {
        let mut uses: Vec<Use> = Vec::new();
        for _ in 0..below(rng, 5) {
            let what = match (0..3).cycle().skip(below(rng, 3)).find(|kind| kinds >> kind & 1 == 1).unwrap() {
                0 => What::Cell(below(rng, CELLS)),
                1 => What::Slice(range(rng)),
                _ => {
                    let parts = [0..3, 0..3, 0..2, 1..3, 0..1, 2..3, 1..2][below(rng, 7)].clone();
                    What::Tile(below(rng, 2), below(rng, 3), parts)
                }
            };
            let new = Use { what, writes: below(rng, 5) < 2 };
            if !uses.iter().any(|other| other.conflicts(&new)) {
                uses.push(new);
            }
        }
        Task { uses, yields: below(rng, 4) == 0 }
    };
    (0..tasks).map(|_| task()).collect()
}

fn mixed(a: u64, b: u64) -> u64 {
    (a ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

/// What a task does: writes, into each element that it writes, what depends on all that it uses.
fn step<'a>(number: usize, reads: impl Iterator<Item = &'a u64>, writes: impl Iterator<Item = &'a mut u64>) {
    let seen = reads.fold(number as u64, |seen, x| mixed(seen, *x));
    writes.for_each(|x| *x = mixed(seen, *x));
}

/// The calls one after the other.
fn serial(program: &[Task], memory: &mut Memory) {
    for (number, task) in program.iter().enumerate() {
        let Memory { cells, slice, matrix } = memory;
        let (mut reads, mut writes) = ([vec![], vec![], vec![]], [vec![], vec![], vec![]]);
        for used in &task.uses {
            let to = if used.writes { &mut writes } else { &mut reads };
            match &used.what {
                What::Cell(at) => to[0].push(*at),
                What::Slice(range) => to[1].extend(range.clone()),
                What::Tile(i, j, parts) => to[2].extend(Use::elements(*i, *j, parts)),
            }
        }
        let [a, b, c] = &reads;
        let values = a.iter().map(|&at| cells[at]).chain(b.iter().map(|&at| slice[at]));
        let values: Vec<u64> = values.chain(c.iter().map(|&at| matrix[at])).collect();
        let seen = values.iter().fold(number as u64, |seen, x| mixed(seen, *x));
        for (memory, places) in [cells, slice, matrix].into_iter().zip(writes) {
            places.into_iter().for_each(|at| memory[at] = mixed(seen, memory[at]));
        }
    }
}

fn record<'env>(r: &mut Region<'env>, program: &'env [Task], memory: &'env mut Memory) {
    let cells: Vec<_> = memory.cells.iter_mut().map(|cell| r.data(cell)).collect();
    let slice = r.slice(&mut memory.slice);
    let matrix = r.tiles(&mut memory.matrix, COLUMNS, SIZE);
    assert_eq!((slice.len(), matrix.rows(), matrix.columns()), (LEN, 2, 3));
    for (number, task) in program.iter().enumerate() {
        let (mut a, mut b, mut c, mut d, mut e, mut f) = (vec![], vec![], vec![], vec![], vec![], vec![]);
        for used in &task.uses {
            match (&used.what, used.writes) {
                (What::Cell(at), false) => a.push(cells[*at].read()),
                (What::Cell(at), true) => b.push(cells[*at].write()),
                (What::Slice(range), false) => c.push(slice.read(range.clone())),
                (What::Slice(range), true) => d.push(slice.write(range.clone())),
                (What::Tile(i, j, parts), writes) => {
                    let whole = matrix.tile(*i, *j);
                    let tile = match (parts.start, parts.end) {
                        (0, 1) => whole.strictly_lower(),
                        (0, 2) => whole.lower(),
                        (1, 2) => whole.lower().upper(),
                        (1, 3) => whole.upper(),
                        (2, 3) => whole.strictly_upper(),
                        _ => whole,
                    };
                    if writes { f.push(tile.write()) } else { e.push(tile.read()) }
                }
            }
        }
        let body = move |a: Vec<&u64>,
                         b: Vec<&mut u64>,
                         c: Vec<&[u64]>,
                         mut d: Vec<&mut [u64]>,
                         e: Vec<Tile<u64>>,
                         mut f: Vec<TileMut<u64>>| {
            if task.yields {
                myriad::yield_now();
            }
            let (c, e) = (c.iter().flat_map(|s| s.iter()), e.iter().flat_map(|t| (0..t.rows()).flat_map(|i| t.row(i))));
            // (One row at a time can be written, so the values of tiles go through a list.)
            let mut tiles: Vec<u64> =
                f.iter().flat_map(|t| (0..t.rows()).flat_map(|i| t.row(i).iter().copied())).collect();
            let writes = b.into_iter().chain(d.iter_mut().flat_map(|s| s.iter_mut())).chain(&mut tiles);
            step(number, a.into_iter().chain(c).chain(e), writes);
            let mut tiles = tiles.into_iter();
            for tile in &mut f {
                (0..tile.rows()).for_each(|i| tile.row_mut(i).iter_mut().for_each(|x| *x = tiles.next().unwrap()));
            }
        };
        r.task(body, (a, b, c, d, e, f));
    }
}

fn memory() -> Memory {
    Memory { cells: vec![1; CELLS], slice: vec![2; LEN], matrix: vec![3; MATRIX] }
}

/// 14: ten thousand programs, by graphs that run twice.
#[test]
fn random_programs_equal_their_serial_run() {
    let round = std::sync::atomic::AtomicU64::new(0);
    each(&[1, 2], |rt| {
        let round = round.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        rt.run(|| {
            for seed in round * 2500..(round + 1) * 2500 {
                let program = program(seed);
                let (mut want, mut got) = (memory(), memory());
                (0..2).for_each(|_| serial(&program, &mut want));
                Graph::record(|r| record(r, &program, &mut got)).run_n(2).unwrap();
                assert_eq!(got, want, "program {seed}: {program:#?}");
            }
        });
    });
}

/// 14: of two tasks that conflict the later one comes after the earlier one, and the graph has no
/// other arrow.
#[test]
fn the_order_is_that_of_conflicts() {
    for seed in 0..10_000 {
        let program = program(seed);
        let mut memory = memory();
        let dot = Graph::record(|r| record(r, &program, &mut memory)).to_dot();
        // Of each task all that it comes after, as a set of bits.
        let mut before = vec![0_u32; program.len()];
        let conflict =
            |a: usize, b: usize| program[a].uses.iter().any(|a: &Use| program[b].uses.iter().any(|b| a.conflicts(b)));
        let mut arrows: Vec<(usize, usize)> = dot
            .lines()
            .filter_map(|line| line.trim().trim_end_matches(';').split_once(" -> "))
            .map(|(from, to)| (from.parse().unwrap(), to.parse().unwrap()))
            .collect();
        arrows.sort_by_key(|&(_, to)| to);
        for (from, to) in arrows {
            assert!(from < to && conflict(from, to), "{from} -> {to} of program {seed}: {program:#?}");
            before[to] |= before[from] | 1 << from;
        }
        for (to, before) in before.iter().enumerate() {
            for from in (0..to).filter(|&from| conflict(from, to)) {
                assert!(before >> from & 1 == 1, "no {from} -> {to} of program {seed}: {program:#?}");
            }
        }
    }
}
