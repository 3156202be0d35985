# SPDX-License-Identifier: BSD-2-Clause
# Turns abi.tsv, the names, values and layout that DAT 2.0 is known by, into C or C++ source that checks
# every row against our headers while it is compiled.
#
#   awk -v language=c|cxx [-v header=FILE] -f abi.awk abi.tsv
#
# With `header` only that header is included and only its rows are checked. What the compiler takes for
# no constant expression (addresses) is checked by the function abi_values_LANGUAGE(). The source counts
# its rows by kind in abi_counts_LANGUAGE; a kind that is not known here is an error.
BEGIN {
    FS = "\t"
    cxx = language == "cxx"
    assertion = cxx ? "static_assert" : "_Static_assert"
    split("dat.h dat_error.h dat_ib_extensions.h dat_platform_specific.h dat_redirection.h " \
          "dat_registry.h udat.h udat_config.h udat_redirection.h", all_headers, " ")
    if (header != "") print "#include <dat2/" header ">"
    else for (i = 1; i in all_headers; i++) print "#include <dat2/" all_headers[i] ">"
    if (header == "udat_config.h") print "#include <dat2/udat.h>" # its DAT_THREADSAFE is an enumerator
    print "#include <netinet/in.h>" # DAT_SOCK_ADDR6 is complete after it
    print "#include <stdarg.h>"
    print "#include <stddef.h>"
    print "#ifdef __cplusplus"
    print "#include <type_traits>"
    print "#endif"
    print "#define TEXT_OF(...) #__VA_ARGS__"
    print "#define TEXT(...) TEXT_OF(__VA_ARGS__)"
    values = ""
}

NR == 1 { next } # the names of the columns
header != "" && $8 != header { next }

{ row = $1 " " $2 ($3 != "" ? "." $3 : ""); rows[$1]++ }

function check(condition) {
    print assertion "(" condition ", \"" row "\");"
}

# The compiler knows no address as a constant: left to run time.
function check_at_run_time(condition) {
    values = values "    if (!(" condition ")) return \"" row "\";\n"
}

function check_type(expression_type, type) {
    if (cxx) check("std::is_same<" expression_type ", " type ">::value")
    else check("__builtin_types_compatible_p(" expression_type ", " type ")")
}

function type_of(expression) {
    return (cxx ? "decltype(" : "__typeof__(") expression ")"
}

function check_defined(name) {
    print "#ifndef " name "\n#error \"" row " is not defined\"\n#endif"
}

function check_text(text, expected) {
    check("__builtin_strcmp(" text ", " expected ") == 0")
}

function signature(text, declarator) {
    sub(/struct __va_list_tag \*/, "va_list", text)
    sub(/\(/, " " declarator "(", text)
    return text
}

$1 == "struct" || $1 == "union" || $1 == "enum" { check("sizeof(" $1 " " $2 ") == " $5); next }

$1 == "member" {
    tag = kind_of_tag($2) " " $2
    check("offsetof(" tag ", " $3 ") == " $4)
    member = "((" tag "*)0)->" $3
    check("sizeof(" member ") == " $5)
    if ($7 == "union (anonymous)") {
        if (cxx) check("std::is_union<" type_of(member) ">::value")
        next
    }
    type = $7
    sub(/^const const/, "const", type)
    sub(/^char\[40\] \*$/, "char(*)[40]", type)
    check_type(type_of(member), type)
    next
}

$1 == "enumerator" {
    check("(long long)(" $3 ") == " number($6))
    if (cxx) check_type(type_of($3), "enum " $2)
    next
}

$1 == "define" && $6 == "(empty)" { check_defined($2); check_text("TEXT(" $2 ")", "\"\""); next }
$1 == "define" {
    check_defined($2)
    check("sizeof(" $2 ") == " $5)
    if (is_address($2)) check_at_run_time("(long long)(" $2 ") == " number($6))
    else check("(long long)(" $2 ") == " number($6))
    next
}
$1 == "define_alias" {
    check_defined($2)
    if ($6 != "(expression)") check_text("TEXT(" $2 ")", "\"" $6 "\"")
    next
}
$1 == "define_str" { check_defined($2); check_text($2, "\"" $6 "\""); next }

# Expands only with the exact number of arguments; without any it does not, unlike an object-like macro.
$1 == "macro_fn" {
    check_defined($2)
    count = $6
    sub(/^arity /, "", count)
    arguments = "a1"
    for (i = 2; i <= count + 0; i++) arguments = arguments ", a" i
    check_text("TEXT(" $2 ")", "\"" $2 "\"")
    check("sizeof(TEXT(" $2 "(" arguments "))) > 1")
    next
}

$1 == "typedef" {
    check("sizeof(" $2 ") == " $5)
    if ($7 == "function *") {
        if (cxx) check("std::is_function<std::remove_pointer<" $2 ">::type>::value")
        next
    }
    type = $7
    sub(/^char\[40\] \*$/, "char(*)[40]", type)
    check_type($2, type)
    next
}
$1 == "fnptr" { check("sizeof(" $2 ") == " $5); check_type($2, signature($7, "(*)")); next }
$1 == "prototype" { check_type(type_of($2), signature($7, "")); next }

{ print "#error \"row of an unknown kind: " row "\""; failed = 1; next }

function kind_of_tag(tag) {
    return tag ~ /^dat_(context|event_data|region_description|sp_handle)$/ ? "union" : "struct"
}

function is_address(name) {
    return name ~ /^DAT_(HANDLE_NULL|EVD_ASYNC_EXISTS|EVD_OUT_OF_SCOPE)$/
}

function number(text) {
    sub(/ .*/, "", text)
    return text "ll"
}

END {
    print "#ifdef __cplusplus\nextern \"C\" {\n#endif"
    print "struct AbiCount { const char* kind; int rows; };"
    print "extern const struct AbiCount abi_counts_" language "[];"
    print "const struct AbiCount abi_counts_" language "[] = {"
    for (kind in rows) print "    {\"" kind "\", " rows[kind] "},"
    print "    {NULL, 0}};"
    print "const char* abi_values_" language "(void);"
    print "const char* abi_values_" language "(void) {\n" values "    return NULL;\n}"
    print "#ifdef __cplusplus\n}\n#endif"
    exit failed
}
