//! Plants each mutant in each script that has to catch it; see `loom/mod.rs`.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

#[test]
fn one_case() {
    let Ok(case) = std::env::var("MYRIAD_LOOM_CASE") else { return };
    let mut words = case.split(' ');
    let (name, mutant, meaning) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let script = models::scripts().find(|s| s.name == name).expect("a script's name");
    let meaning = models::MEANINGS.into_iter().find(|m| format!("{m:?}") == meaning).expect("a meaning");
    let n = models::explore(script, mutant.to_string().leak(), meaning);
    println!("{n} executions");
}
