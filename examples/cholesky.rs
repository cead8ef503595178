//! Prints: L times its transpose is the matrix, to 12 digits
//!
//! The Cholesky factorization of a matrix of tiles, as a region: the serial program, whose calls
//! say which tiles they read and write. Those that do not conflict run beside each other. With the
//! name of a file (`-- gantt.svg`) it also draws when each call ran, and on which worker.

use myriad::flow::Graph;
use myriad::flow::region::{Tile, TileMut};

/// Rows of a tile, and of the matrix.
const TILE: usize = 32;
const SIZE: usize = 12 * TILE;

/// `a = L · Lᵀ`; L in place, in the lower triangle.
fn potrf(mut a: TileMut<f64>) {
    for j in 0..a.rows() {
        for i in j..a.rows() {
            let sum: f64 = (0..j).map(|k| a[(i, k)] * a[(j, k)]).sum();
            a[(i, j)] = if i == j { (a[(i, i)] - sum).sqrt() } else { (a[(i, j)] - sum) / a[(j, j)] };
        }
    }
}

/// `a = a · L⁻ᵀ`
fn trsm(l: Tile<f64>, mut a: TileMut<f64>) {
    for row in 0..a.rows() {
        let row = a.row_mut(row);
        for j in 0..row.len() {
            row[j] = (row[j] - dot(&row[..j], l.row(j))) / l[(j, j)];
        }
    }
}

/// `c = c - a · bᵀ`, or the lower triangle of that.
fn gemm(a: Tile<f64>, b: Tile<f64>, mut c: TileMut<f64>) {
    for i in 0..c.rows() {
        for (j, x) in c.row_mut(i).iter_mut().enumerate() {
            *x -= dot(a.row(i), b.row(j));
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let given = |i: usize, j: usize| if i == j { SIZE as f64 } else { 1.0 / i.abs_diff(j) as f64 };
    let mut matrix: Vec<f64> = (0..SIZE * SIZE).map(|at| given(at / SIZE, at % SIZE)).collect();
    let graph = Graph::record(|r| {
        let a = r.tiles(&mut matrix, SIZE, TILE);
        for k in 0..a.rows() {
            r.task(potrf, (a.tile(k, k).lower().write(),)).name(format!("potrf {k}"));
            for i in k + 1..a.rows() {
                let accesses = (a.tile(k, k).lower().read(), a.tile(i, k).write());
                r.task(trsm, accesses).name(format!("trsm {i} {k}"));
            }
            for (i, j) in (k + 1..a.rows()).flat_map(|i| (k + 1..=i).map(move |j| (i, j))) {
                let c = if i == j { a.tile(i, j).lower() } else { a.tile(i, j) };
                let accesses = (a.tile(i, k).read(), a.tile(j, k).read(), c.write());
                r.task(gemm, accesses).name(format!("gemm {i} {j} {k}"));
            }
        }
    });
    let (result, trace) = graph.run_traced();
    result?;
    println!("{} calls in {:.1?}", graph.len(), trace.duration());
    drop(graph);
    if let Some(file) = std::env::args().nth(1) {
        std::fs::write(&file, trace.to_svg())?;
        println!("{file} shows which worker did what and when");
    }

    // (Above the diagonal the matrix is as it was given.)
    let row = |i: usize| &matrix[i * SIZE..i * SIZE + i + 1];
    let pairs = (0..SIZE).flat_map(|i| (0..SIZE).map(move |j| (i, j)));
    let worst = pairs.map(|(i, j)| (dot(row(i), row(j)) - given(i, j)).abs()).fold(0.0, f64::max) / SIZE as f64;
    if worst > 1e-12 {
        return Err(format!("L times its transpose differs from the matrix by {worst:e}").into());
    }
    println!("L times its transpose is the matrix, to 12 digits");
    Ok(())
}
