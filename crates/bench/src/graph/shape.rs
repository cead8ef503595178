//! Which node comes after which.

use crate::params::Params;

/// For each node those that it comes after, which have smaller numbers.
pub(crate) struct Shape {
    ends: Vec<usize>,
    before: Vec<u32>,
    /// Its bodies compute something.
    pub(crate) computes: bool,
}

impl Shape {
    pub(crate) fn new(p: &Params) -> Shape {
        let n = u32::try_from(p.n).unwrap_or(u32::MAX);
        let mut shape = Shape { ends: Vec::new(), before: Vec::new(), computes: p.form == "cholesky" };
        match p.form.as_str() {
            "random" => shape.random(n, p.seed),
            "diamond" => {
                shape.add([]);
                (1..n).for_each(|_| _ = shape.add([0]));
                shape.add(1..n);
            }
            "chain" => {
                shape.add([]);
                (1..n).for_each(|at| _ = shape.add([at - 1]));
            }
            "wavefront" => {
                let side = n.isqrt();
                for at in 0..side * side {
                    let above = at.checked_sub(side);
                    let left = at.checked_sub(1).filter(|_| at % side > 0);
                    shape.add(above.into_iter().chain(left));
                }
            }
            _ => shape.cholesky(n),
        }
        shape
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn before(&self, node: usize) -> &[u32] {
        let begin = if node == 0 { 0 } else { self.ends[node - 1] };
        &self.before[begin..self.ends[node]]
    }

    fn add(&mut self, before: impl IntoIterator<Item = u32>) -> u32 {
        self.before.extend(before);
        self.ends.push(self.before.len());
        self.ends.len() as u32 - 1
    }

    fn random(&mut self, n: u32, seed: u64) {
        let mut state = seed;
        let mut random = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % below
        };
        self.add([]);
        for at in 1..n {
            let near = at.min(1000);
            let mut before = [(); 3].map(|()| at - 1 - random(near));
            before.sort_unstable();
            // (Few are the same.)
            let once = (0..3).filter(|&i| i == 0 || before[i] != before[i - 1]).map(|i| before[i]);
            self.add(once);
        }
    }

    /// As many rows of tiles as fit. A tile is written by each step, after it was written by the
    /// last one, and reads up to two others.
    fn cholesky(&mut self, n: u32) {
        let nodes = |rows: u64| rows * (rows + 1) * (rows + 2) / 6;
        let rows = (1..).take_while(|&rows| nodes(rows) <= u64::from(n)).last().unwrap_or(1) as usize;
        let mut last = vec![None; rows * rows];
        for k in 0..rows {
            let tile = |i: usize, j: usize| i * rows + j;
            last[tile(k, k)] = Some(self.add(last[tile(k, k)]));
            for i in k + 1..rows {
                last[tile(i, k)] = Some(self.add([last[tile(i, k)], last[tile(k, k)]].into_iter().flatten()));
            }
            for i in k + 1..rows {
                for j in k + 1..=i {
                    let other = last[tile(j, k)].filter(|_| i != j);
                    let before = [last[tile(i, j)], last[tile(i, k)], other];
                    last[tile(i, j)] = Some(self.add(before.into_iter().flatten()));
                }
            }
        }
    }
}
