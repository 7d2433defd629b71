"""Command lines do what `/bin/sh` does with them."""

from __future__ import annotations

from tests.native import PYTHON, Compared

FILES = {
    "x.py": "import sys\nprint('x', sys.argv[1:])\nprint('err', file=sys.stderr)\nsys.exit(int(sys.argv[1]) if sys.argv[1:] else 0)",
    "up.py": "import sys\nsys.stdout.write(sys.stdin.read().upper())",
    "env.py": "import os\nprint(os.environ.get('A'), os.environ.get('B'))",
    "where.py": "import os\nprint(os.path.basename(os.getcwd()))",
    "a.txt": "one two\nthree\n",
    "b.txt": "four\n",
    "sub/c.txt": "five",
    "line.sh": "echo first $1\nfor f in *.txt; do\n  cat $f\ndone\nif test -f a.txt; then echo yes; else echo no; fi\nexit 3\n",
}

LINES = [
    "PY x.py",
    "PY x.py 3",
    "PY x.py 0 > out.txt 2>&1 && cat out.txt",
    "PY x.py 2 || echo failed $?",
    "PY x.py 1 && echo never; echo then",
    "PY x.py > out.txt; PY x.py >> out.txt 2>/dev/null; cat out.txt",
    "PY x.py 2>err.txt; cat err.txt",
    "PY x.py 2>&1 >/dev/null | cat",
    "PY up.py < a.txt",
    "echo hello | PY up.py",
    "cat a.txt b.txt | PY up.py | cat -n",
    "PY -c 'import sys; print(sys.argv)' 'a b' \"c d\" e\\ f",
    "A=1 B='x y' PY env.py; PY env.py",
    "export A=7; B=8; PY env.py",
    "A=5; export A; unset A; PY env.py",
    "cd sub && PY ../where.py && pwd | PY -c 'import sys; print(sys.stdin.read().endswith(\"sub\\n\"))'; ls",
    "(cd sub; PY ../where.py); PY where.py | cat > /dev/null; ls",
    "echo *.txt sub/* '*.txt' \"*.py\" none*",
    "for f in a b; do echo $f-${f}; done",
    "if PY x.py 1 2>/dev/null; then echo a; elif true; then echo b; else echo c; fi",
    "while false; do echo x; done; echo done",
    "! true; echo $?; ! false && echo ok",
    "X=$(echo inner); echo \"$X\" `echo back`",
    "echo \"$(cat b.txt)\" $HOME ${NOTHING:-default} ${HOME} $# end",
    "PY - <<'EOF'\nprint('here $HOME')\nEOF",
    "cat <<END\nhome $HOME\nEND\necho after",
    "echo one\necho two # comment\n\necho three",
    "echo a &\nwait; echo b",
    "{ echo a; echo b; } > o; cat o",
    "mkdir -p d/e && touch d/e/f && ls d/e && rm -r d && ls d",
    "mkdir sub 2>/dev/null || echo $?",
    "cp a.txt e.txt && mv e.txt f.txt && cat f.txt && ls",
    "cp a.txt b.txt sub && ls sub",
    "cp sub copy",
    "cp -r sub copy && ls copy",
    "rm none; echo $?; rm -f none; echo $?; rm sub",
    "test -f a.txt && echo file; [ -d sub ] && echo folder; [ a = b ] || echo differ; [ 3 -gt 2 ] && echo more",
    "test -z '' -a -n x && echo both; [ ! -e none ] && echo none",
    "printf '%s-%d\\n' a 1 b 2; printf 'x\\ty\\n'; printf '%5.2f|%-4s|\\n' 3.14159 ab",
    "head -n 1 a.txt; tail -n 1 a.txt; head -1 a.txt b.txt",
    "wc -l a.txt; wc a.txt b.txt; wc -c < a.txt",
    "echo -n no newline; echo; basename /a/b.txt .txt; dirname /a/b.txt",
    "cat none.txt; echo $?",
    "exit 5; echo never",
    "sh line.sh arg; echo $?",
    "false; echo $?; true; echo $?",
    "set -e; false; echo never",
    "set -e; false || true; if false; then :; fi; echo on",
    "echo a > 'name with space'; ls name*; cat name*",
    "PY -c 'print(1)' | PY -c 'print(int(input()) + 1)' | PY -c 'print(int(input()) + 1)'",
    "echo x | tee t.txt; cat t.txt",
    "PY -c 'import sys; sys.exit(4)'; echo $?",
    "exec PY x.py 6; echo never",
    "ls none; echo $?",
    "ls a.txt sub",
    "eval 'echo a b'; . ./line.sh; echo never",
    "echo 'single $HOME' \"double \\\"quoted\\\" \\$HOME\"",
    "echo a; ; echo b",
    "echo 'unterminated",
    "echo a &&",
    "cat < none; echo $?",
    "echo done > none/file; echo $?",
    "PY x.py </dev/null",
    "sleep 0; env A=3 B=4 PY env.py",
    "true && { false || echo inner; } && echo outer",
    "V='a  b'; echo $V; echo \"$V\"; W=$V; echo \"$W\"",
    "echo ~ | PY -c 'import os; print(input() == os.environ[\"HOME\"])'",
    "PY -c \"print('a')\nprint('b')\"",
    "PY \\\n  x.py \\\n  0",
    "nope 2>/dev/null; echo $?",
    "[ -f none ]; echo $?; test; echo $?",
    "realpath sub/../a.txt | PY -c 'print(input().endswith(\"/a.txt\"))'",
    "false | true; echo $?; true | false; echo $?",
    "printf '1\\n2\\n3\\n' > n; tail -n +2 n; tail -n -2 n; head -n -2 n; head -n +1 n; tail -n 9 n; head -n -9 n; tail -n 0 n",
    "printf 'a\\rb\\n2\\n' | head -n 1; printf 'a\\fb\\n' | cat -n",
    "A=1 B=2 env -u A PY env.py; export A=1 B=2; env -uB PY env.py; env --unset=A PY env.py; env -u A -- B=4 PY env.py",
    "mkdir d; cd d; mkdir e; rm -rf . .. ./ e/..; echo $?; ls; cd ..; ls",
    "mkdir -v d; mkdir -pv d/e/f; cp -v a.txt d; mv -v d/a.txt d/e; rm -v d/e/a.txt; rm -rv d; ls",
    "mkdir -m 700 d; PY -c 'import os; print(oct(os.stat(\"d\").st_mode))'; mkdir a.txt 2>/dev/null; echo $?; mkdir -p a.txt 2>/dev/null; echo $?; rm 2>/dev/null; echo $?",
    "basename -a /x/a.txt b.txt; basename -s .txt a.txt; basename -a -s .txt /x/a.txt b.txt; basename /a/ ; dirname /a /a/b",
    "realpath -m /none/such/../x; realpath /none/such; echo $?; realpath -e none; echo $?",
    "date +%N | PY -c 'print(len(input()))'; date +%F | PY -c 'print(len(input()))'; date +'a%%b'",
    "printf %c abc; printf '%3c|%-3c|' x yz; printf '%d %x %o\\n' 0x10 010 8; printf '%5s|%.2s|%05d\\n' a bcd 7",
    "cp a.txt a.txt; echo $?; mv none x; echo $?",
    "exec 3>log; echo a >&3; PY x.py >&3 2>&1; exec 3>&-; cat log; echo b >&3; echo $?",
    "{ echo out; echo err >&2; } 3>&1 1>&2 2>&3; echo done 3>o 1>&3; cat o; echo x 9>p; ls p",
    "exec > all.log 2>&1; echo a; PY x.py; ls none", "(exec > in.log; echo a); echo b; cat in.log",
    "exec 2>/dev/null; cat none; echo on", "exec > none/x; echo never", "exec < a.txt; cat; read x; echo $?",
    "sh -e line.sh; sh -ec 'false; echo never'; echo $?; sh -e -c 'false; echo never'; sh -ceu 'echo $1' a b c",
    "sh -u -c 'echo $NOTHING; echo never'; echo $?; set -u; echo ${NOTHING-a} ${NOTHING:-b}; echo $1; echo never",
    "set -- a 'b c' d; echo $# $1 $2; shift; echo $1; shift 2; echo $#; set x y; echo $*; for i in \"$@\"; do echo $i; done",
    "set -eu; set +e; false; echo on; set -e; (false; echo never); echo never",
    "set -e; { false; true; } || echo x; if { false; true; }; then echo y; fi; ! { false; true; }; { false && true; }; echo on",
    "set -e; while { false; true; }; do echo in; break; done; x=$(echo a; false) || echo failed; (true && false); echo never",
    "set -e; if (false; echo z); then echo w; fi; x=$(false); echo never", "set -e; false | true; true | false; echo never",
    "for i in 1 2 3; do if [ $i = 2 ]; then continue; fi; echo $i; done; while true; do echo once; break; done; echo $?",
    "for i in 1 2; do for j in a b c; do if [ $j = b ]; then continue 2; fi; echo $i$j; done; done; break; echo $?",
    "for i in 1 2; do for j in a b; do echo $i$j; break 5; done; done; echo end; for i in a b; do (break); echo $i; done",
    "while read a b; do echo \"<$a|$b>\"; done < a.txt; printf ' x  y z \\nlast' | while read l || [ -n \"$l\" ]; do echo \"[$l]\"; done",
    "printf '  a\\\\tb \\nc\\\\\\nd\\n' > r; while IFS= read -r l; do printf '[%s]' \"$l\"; done < r; while read l; do echo \"[$l]\"; done < r",
    "read x < b.txt; echo $x $?; read y < /dev/null; echo $?; { read p; cat; } < a.txt; echo a b c | { read p q; echo $q-$p; }",
    "echo 'a\\\nb' \"c\\\nd\" e\\\nf # no \\\necho g", "cat <<'E'\na\\\nb\nE\ncat <<E\na\\\nb\nE",
    "set -- ; mkdir -p \"${1:-out dir}\" ${1:-\"in dir\"} ${1:-x y}; ls; E=; echo [${E-d}] [${E:-d}] [${F-d}] \"[${E-d}${F:-}]\" ${F:-$HOME}",
    "echo ${F:-'a  b'} \"${F:-a  b}\" ${F:-a  b} \"${F:-$(echo 'x')}\" ${F:-\"a}b\"}; echo `echo \\`echo in\\``; echo \"$(echo \"a\\\"b)\")\"",
    "true && (exit 3) || echo $?; (cd sub; umask 077); echo ${10:-none}",
    "echo $((1 + 2)) $((7 / 2)) $((-7 / 2)) $((-7 % 3)) $((2 * (3 + 4))) \"$((1<<10))\" $((0x1f + 010))",
    "i=3; echo $((i + 1)) $(($i * 2)) $((${i} - 1)) $((i)) $((none)) $((i=7)) $i $((i += 2)) $((i <<= 2)); echo $i",
    "echo $((1 < 2)) $((2 <= 1)) $((1 == 1 && 0 || 1)) $((!0)) $((~5)) $((5 & 3 | 8 ^ 1)) $((1 ? 2 : 3)) $((0 ? 2 : 0 ? 3 : 4))",
    "echo $((0 && 1 / 0)) $((1 || x = 4)) [$x] $((9223372036854775807 + 1)) $((1 >> 1)) $((- - 3)) $((+4))",
    "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); echo $i; done; echo $(( $(echo 4) + `echo 5` ))",
    "echo $((1 / 0)); echo never", "echo $((1 +)); echo never", "echo $((1 2))", "x=abc; echo $((x)); echo never",
    "echo a$((1+1))b$((2+2)) $(((1 + 2) * 3)); x=$((4))$((5)); echo $x; echo $( (echo in) ); cat <<E\nsum $((2 + 3))\nE",
    "echo ${NOTHING:-$((6 * 7))}; x=' 12 '; echo $((x + 1)); x=-5; echo $((x * x)) $((x / 2)); [ $((3 % 2)) -eq 1 ] && echo odd",
]


TEXTS = {
    "log.txt": "Error: disk full\nwarning: low\nerror: again\n\ninfo 42 ok\nERROR 7\nfoo(bar) a.b a+b\nlast line error",
    "data.csv": "name,age,city\nAnn,34,Rome\nBob,7,Bern\nCid,34,Aarau\n,,\nDora,101,Rome\n",
    "words.txt": "pear\napple\nfig\napple\nPear\nfig\nfig\n  indented 10\nx 9\n",
    "numbers.txt": "10\n9\n-0.05\n-0.5\n-0.505\n0.05\n0.5\n0.505\n007\n-3\n2.5\n2.50\n1e3\nabc\n\n0\n-12\n100K\n2M\n",
    "src/a.py": "import os\ndef main():\n    return os.getcwd()  # TODO\n",
    "src/b.txt": "nothing\n",
    "src/deep/c.py": "import sys\nimport os.path\n",
    "tabs.txt": "a\tb\tc\nd\te\nnone\n",
}

FILTERS = [
    "grep error log.txt", "grep -i error log.txt; grep -n -i error log.txt; grep -ci error log.txt log.txt",
    "grep -v error log.txt", "grep nothing_there log.txt; echo $?", "grep -q error log.txt; echo $?; grep -q x none; echo $?",
    "grep -c '' log.txt words.txt; grep -l error log.txt words.txt; grep -L error log.txt words.txt; echo $?",
    "grep -E '^(Error|info)|line' log.txt; grep -E '[0-9]+' log.txt; grep -oE '[0-9]+' log.txt data.csv",
    "grep -o 'a.b' log.txt; grep -F a.b log.txt; grep 'a+b' log.txt; grep -E 'a\\+b' log.txt; grep 'foo(bar)' log.txt",
    "grep 'err\\(or\\)*\\|warn' log.txt; grep '[[:upper:]]\\{3,\\}' log.txt; grep -w error log.txt; grep -x 'ERROR 7' log.txt",
    "grep -e warn -e info log.txt; grep -m 1 error log.txt; grep -A1 warning log.txt; grep -B1 -n info log.txt; grep -C 1 42 log.txt",
    "grep -A1 error log.txt; grep -n -A 1 -m 1 -i error log.txt; grep -A 3 -m 1 error log.txt; grep -h error log.txt log.txt; grep -H error log.txt",
    "grep -rn import src | sort; grep -r --include='*.py' -l os src | sort; grep -rl import . --exclude-dir=deep; grep -rc import src | sort",
    "cd src; grep -r nothing; grep -r nothing .; grep nothing b.txt; grep -r nothing b.txt; grep -rh nothing .; grep -rH nothing b.txt",
    "grep x none; echo $?; grep -s x none; echo $?; grep error log.txt none; echo $?; grep x src; echo $?",
    "cat log.txt | grep -n 42; echo abc | grep -c b -; printf 'a\\\\b\\n' | grep 'a\\\\b'; echo 'x*y' | grep 'x\\*y'; echo '*a' | grep '*a'",
    "echo aXbXc | grep -oE 'X|XbX'; echo abab | grep -o 'ab*'; echo aaa | grep -E 'a{2}$'; echo 'a]b' | grep '[]]'; echo a-b | grep '[a-]-'",
    "echo 'abcabc' | grep -E '(abc)\\1'; echo 'foo bar' | grep -o '\\<b[a-z]*\\>'; echo x1 | grep '\\w[[:digit:]]'; echo '^a$' | grep 'x\\?^a\\$'",
    "printf 'a\\0error\\n' > bin; grep error bin; grep -c error bin; grep -a -c error bin; grep -l error bin",
    "printf 'caf\\303\\251\\n' | grep -o 'f.$'; echo ABC | grep --ignore-case abc --color=never; egrep 'o|w' log.txt; fgrep '(' log.txt",
    "grep -iE 'DISK|LOW' log.txt | cut -d: -f2; grep -vc '^$' log.txt; grep -n '^$' log.txt; grep -on error log.txt; grep -vn e words.txt",
    "grep -P '\\d{2}' log.txt; echo 'key=value' | grep -oP 'key=\\K\\w+'; grep -E '^$|7' log.txt; grep -E 'a|' words.txt | head -n 2",
    "sort words.txt; sort -r words.txt; sort -u words.txt; sort -f words.txt; sort -fu words.txt; sort -b words.txt",
    "sort -n numbers.txt; sort -rn numbers.txt; sort -h numbers.txt; sort -nu numbers.txt; sort numbers.txt",
    "sort -t, -k2,2n data.csv; sort -t, -k3,3 -k2,2nr data.csv; sort -t , -k 2 data.csv; sort -t, -k2n -k1r data.csv; sort -s -t, -k2,2 data.csv",
    "sort -k2 words.txt log.txt; sort -k2,2 -u log.txt; sort -k1.2,1.3 words.txt; sort -k2.2b log.txt; sort -rk2 log.txt; sort -t, -u -k3,3 data.csv",
    "sort none; echo $?; sort src; echo $?; printf 'b\\na' | sort; sort -o sorted.txt words.txt; cat sorted.txt; cat words.txt | sort - numbers.txt",
    "sort words.txt | uniq; sort words.txt | uniq -c; sort words.txt | uniq -d; sort words.txt | uniq -u; uniq -i words.txt; uniq words.txt out; cat out",
    "sort words.txt | uniq -c | sort -rn | head -n 2; uniq none; echo $?; printf 'a\\na' | uniq; printf '' | uniq -c",
    "cut -d, -f1 data.csv; cut -d , -f 1,3 data.csv; cut -d, -f2- data.csv; cut -d, -f-2 data.csv; cut -f2 tabs.txt; cut -sf2 tabs.txt",
    "cut -c1-3 data.csv; cut -c 2 data.csv; cut -b1,3-4 words.txt; cut -d, -f1 --complement data.csv; cut -d, -f3,1 --output-delimiter=: data.csv",
    "echo a:b:c | cut -d: -f2; cut -d' ' -f2 log.txt; cut -f1 none; echo $?; printf 'a,b' | cut -d, -f2; printf 'x\\n\\ny\\n' | cut -c1",
    "echo Hello | tr a-z A-Z; echo Hello | tr '[:upper:]' '[:lower:]'; echo a,b,c | tr , '\\n'; echo a1b2 | tr -d 0-9; echo 'a  b   c' | tr -s ' '",
    "echo 'a b' | tr ' ' '_'; echo abc | tr -d '\\n'; echo; echo 'x-y_z' | tr -c '[:alnum:]\\n' '.'; echo aabbcc | tr -s a-z; echo abc | tr abc xy",
    "printf 'a\\tb\\n' | tr '\\t' ' '; echo aabb | tr -s ab xy; echo 'q]w[' | tr '[]' '()'; printf 'a\\r\\n' | tr -d '\\r'; echo 12-3 | tr -d 0-9-; echo az | tr a-c-z X; echo aab12 | tr -cs a-z -",
    "find src | sort; find . -name '*.py' | sort; find src -type f | sort; find src -type d | sort; find . -maxdepth 1 -type f -name '*.t*' | sort",
    "find src -name '*.py' -o -name '*.txt' | sort; find src ! -name '*.py' | sort; find src \\( -name a.py -o -name c.py \\) -print | sort; find src/a.py; find src/ | sort",
    "find none; echo $?; find . -iname 'A.PY'; find . -path './src/deep*' | sort; find . -path ./src/deep -prune -o -name '*.py' -print | sort; find src -mindepth 2",
    "find . -size +20c -size -60c | sort; find . -size 0; touch empty; mkdir nothing; find . -empty | sort; find . -name empty -delete; ls; find src -print0 | tr '\\0' '\\n' | sort",
    "for f in $(find src -name '*.py' | sort); do wc -l $f; done; find . -name '*.csv' -mtime -1; find . -newer log.txt -name none; find src -depth -name 'c*'",
    "head -c 5 log.txt; echo; tail -c 4 log.txt; echo; head --lines=1 log.txt; tail --lines 1 words.txt; tail -c +500 log.txt; head -c -100 log.txt; wc --lines log.txt",
    "cat data.csv | tail -n +2 | cut -d, -f3 | sort | uniq -c | sort -k1,1nr -k2; echo $((`wc -l < data.csv` - 1)); [ $(grep -c Rome data.csv) -eq 2 ] && echo two",
]


class CommandLines(Compared):
    def test_command_lines_do_what_a_shell_does(self):
        for line in LINES:
            with self.subTest(line):
                self.compare([line.replace("PY", PYTHON)], FILES, shell=True)

    def test_filters_do_what_those_of_a_machine_do(self):
        for line in FILTERS:
            with self.subTest(line):
                self.compare([line], TEXTS, shell=True)


class Others(Compared):
    def test_what_is_not_understood_is_refused_before_anything_runs(self):
        for line, words in [
            ("echo a; case x in x) echo b;; esac", "`case` is not understood here: write it in Python"),
            ("echo a > made; f() { echo b; }", "functions are not understood"),
            ("echo ${HOME%/*}", "is not understood here"),
            ("echo a; [[ a == a ]]", "`[[` is not understood"),
            ("echo a; trap 'rm x' EXIT", "`trap` is not understood"),
            ("echo a; A=1 readonly B", "`readonly` is not understood"),
            ("echo a; if true; then return 1; fi", "`return` is not understood"),
            ("echo a; IFS=,; echo b", "`IFS` cannot be set here"),
            ("echo a; export IFS=:", "`IFS` cannot be set here"),
            ("echo $(case x in x) echo b;; esac)", "`case` is not understood"),
            ("echo a `trap`", "`trap` is not understood"),
            ("echo a; set -x; echo b", "the option -x is not understood"),
            ("set -o noclobber; echo b", "the option -o noclobber is not understood"),
            ("echo a; { exec > b; } > c", "`exec` within redirected commands"),
            ("(" * 99 + "echo a" + ")" * 99, "nested more than 30 deep"),
            ("echo " + "$(" * 99 + "echo a" + ")" * 99, "nested more than 30 deep"),
            ("bash -xc 'echo a'; exit $?", "the option -x is not understood"),
        ]:
            with self.subTest(line):
                value = self.returns(
                    "import subprocess, os\n"
                    f"r = subprocess.run({line!r}, shell=True, capture_output=True, text=True)\n"
                    "[r.returncode, r.stdout, r.stderr, os.listdir()]"
                )
                self.assertEqual((value[0], value[1], value[3]), (2, "", []))
                self.assertIn(words, value[2])

    def test_options_of_bash(self):
        value = self.returns(
            "import subprocess, os\n"
            "open('s', 'w').write('#!/bin/bash -e\\nfalse\\necho never'); os.chmod('s', 0o755)\n"
            "lines = ['set -euo pipefail; false | true; echo never', 'bash -o pipefail -c \"false | cat\"', './s',\n"
            "         'bash -lc \"echo on\"', 'while true; do :; done', 'sh -z x', 'set -o pipefail; (exit 3) | true | (exit 4) | true']\n"
            "done = [subprocess.run(line, shell=True, capture_output=True, text=True) for line in lines]\n"
            "[[(r.returncode, r.stdout) for r in done], done[4].stderr]"
        )
        self.assertEqual(value[0], [[1, ""], [1, ""], [1, ""], [0, "on\n"], [2, ""], [2, ""], [4, ""]])
        self.assertIn("a loop has more than", value[1])

    def test_descriptors_of_the_parent_stay_its_own(self):
        value = self.returns(
            "import subprocess, os\n"
            "f = open('mine', 'w'); f.write('kept'); n = f.fileno()\n"
            "r = subprocess.run(f'echo a {n}>other; exec {n}>more; echo b >&{n}; (exec 2>x)', shell=True, capture_output=True, text=True)\n"
            "f.close()\n[r.returncode, r.stderr, open('mine').read(), open('other').read(), open('more').read()]"
        )
        self.assertEqual(value, [0, "", "kept", "", "b\n"])

    def test_missing_programs_are_not_found_and_the_advice_is_said(self):
        for line, words in [
            ("soffice --headless --convert-to pdf a.docx", "no office program can run"),
            ("cd . && git status", "pass files as blobs"),
            ("curl -s https://a.example | head", "urllib.request"),
            ("pip install polars -q", "in the place of polars: use pandas"),
            ("npx something", "no JavaScript"),
            ("/usr/bin/pdftoppm a.pdf", "pages of a PDF"),
            ("sudo ls", "leave it out"),
        ]:
            with self.subTest(line):
                value = self.returns(
                    "import subprocess\n"
                    f"r = subprocess.run({line!r}, shell=True, capture_output=True, text=True)\n[r.returncode, r.stderr]"
                )
                self.assertEqual(value[0], 0 if "|" in line else 127)
                self.assertRegex(value[1], r"^/bin/sh: 1: \S+: not found \(")
                self.assertIn(words, value[1])

    def test_an_option_that_a_utility_does_not_know_is_an_error(self):
        value = self.returns(
            "import subprocess\nr = subprocess.run('ls --color=never; cat -Z x', shell=True, capture_output=True, text=True)\n"
            "[r.returncode, r.stderr]"
        )
        self.assertEqual(value[0], 2)
        self.assertIn("ls: unrecognized option '--color=never'; use Python instead", value[1])


del Compared  # it has no tests of its own
