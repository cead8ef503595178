# Makes the tests of a published package tests of several callers: each test's body goes into `suite_callers::run`, an asynchronous one's
# into `run_async`. It relies on the layout of rustfmt: a body ends with a brace as far to the right as its `fn`.
# A test is left out, but for a line with its name, if `names` (` one two `) has its name, or its text matches `texts`.
function give_out() {
    printf "%s", held
    held = ""
}
function end_of_test() {
    if (index(names, " " name " ") || (texts != "" && held ~ texts)) {
        held = indent "// left out: " name "\n"
    }
    give_out()
    ends = ""
}
# In a body.
ends != "" {
    held = held ($0 == ends ? ends ") }" : $0) "\n"
    if ($0 == ends) end_of_test()
    next
}
/^ *#\[/ {
    if ($0 ~ /^ *#\[(tokio::test|maybe_tokio_test|test)(\(.*\))?\]/) {
        is_test = 1
        sub(/#\[(tokio::test|maybe_tokio_test)(\(.*\))?\]/, "#[test]")
    }
    held = held $0 "\n"
    next
}
is_test && /^ *(async )?fn [a-z0-9_#]+\(\)/ {
    is_test = 0
    indent = $0
    sub(/[^ ].*/, "", indent)
    is_async = $0 ~ /^ *async /
    name = $0
    sub(/^ *(async )?fn (r#)?/, "", name)
    sub(/\(.*/, "", name)
    has_body = sub(/\{$/, is_async ? "{ suite_callers::run_async(|| async {" : "{ suite_callers::run(|| {")
    sub(/async fn/, "fn")
    held = held $0 "\n"
    if (has_body) ends = indent "}"
    else end_of_test()
    next
}
{
    give_out()
    print
}
