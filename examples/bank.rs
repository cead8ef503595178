//! Prints: 100 accounts, 50 refused, 100000 in all
//!
//! A bank with agents, as in Clojure: each account is one. Money is taken in an action, and what
//! that action sends goes only if it has succeeded. So an order that a validator refuses has paid
//! nobody, and no lock is taken over two accounts.

use myriad::agent::{Agent, AgentError, ErrorMode};

/// An account, which is never overdrawn; `refused` counts orders that would.
fn open(balance: i64, refused: &Agent<usize>) -> Result<Agent<i64>, AgentError> {
    let account = Agent::new(balance);
    account.set_validator(|balance| *balance >= 0)?;
    account.set_error_mode(ErrorMode::Continue);
    let refused = refused.clone();
    account.set_error_handler(move |_, _| refused.send(|n| *n += 1).expect("a count does not fail"));
    Ok(account)
}

/// Orders a payment, and goes on.
fn pay(from: &Agent<i64>, to: &Agent<i64>, amount: i64) -> Result<(), AgentError> {
    let to = to.clone();
    from.send(move |balance| {
        *balance -= amount;
        to.send(move |balance| *balance += amount).expect("an account goes on");
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let refused = Agent::new(0);
    let accounts: Vec<_> = (0..100).map(|_| open(1_000, &refused)).collect::<Result<_, _>>()?;
    myriad::scope(|s| {
        for clerk in 0..10 {
            let accounts = &accounts;
            s.spawn(move || {
                for k in 0..100 {
                    let (from, to) = (&accounts[k], &accounts[(k * 7 + clerk) % 100]);
                    pay(from, to, 10).expect("an account goes on");
                }
                for k in 0..5 {
                    pay(&accounts[k], &accounts[99 - k], 1_000_000).expect("an account goes on");
                }
            });
        }
    });
    // First what was ordered is done, then what that has sent.
    for _ in 0..2 {
        accounts.iter().try_for_each(Agent::wait)?;
    }
    refused.wait()?;
    let sum: i64 = accounts.iter().map(Agent::get).sum();
    println!("{} accounts, {} refused, {sum} in all", accounts.len(), refused.get());
    Ok(())
}
