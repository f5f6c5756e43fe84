"""TypeScript runs as promptfoo's loader runs it, and what can't be loaded is found before anything is paid."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from evenhand.engine.code import CodeHost
from evenhand.languages.javascript.node import found_node
from evenhand.languages.javascript.running import call, function, problems, provider


def _able() -> bool:
    """Whether the Node that is here knows enough of TypeScript."""
    if not found_node():
        return False
    code = "process.exit(typeof require('module').registerHooks === 'function' ? 0 : 1)"
    return subprocess.run([found_node(), "-e", code], check=False).returncode == 0


needs_typescript = pytest.mark.skipif(not _able(), reason="there is no Node 22.15 or newer here")
HELPER = "export const helper = (x: string): string => `helped ${x}`;\n"
TELLS = "export default (x: string): string => {body};\n"
FILES: Mapping[str, tuple[Mapping[str, str], str]] = {
    "types": ({"m.ts": "export default (x: string): string => x as string;"}, "x"),
    "enum": ({"m.ts": "export enum K { A = 'a' }\nexport default (x: string) => K.A + x;"}, "ax"),
    "const enum": ({"m.ts": "const enum K { A = 2 }\nexport default () => K.A;"}, "2"),
    "namespace": (
        {"m.ts": "namespace N { export const a = 'n'; }\nexport default () => N.a;"},
        "n",
    ),
    "parameter properties": (
        {
            "m.ts": "class C { constructor(readonly a: string) {} }\nexport default () => new C('p').a;"
        },
        "p",
    ),
    "abstract classes": (
        {
            "m.ts": "abstract class A { abstract f(): string }\nclass B extends A { f() { return 'b' } }\n"
            "export default () => new B().f();"
        },
        "b",
    ),
    "generics, satisfies and assertions": (
        {
            "m.ts": "const id = <T,>(x: T): T => x;\n"
            "export default (x: string) => id({ x } satisfies { x: string }).x!;"
        },
        "x",
    ),
    "no ending": (
        {"m.ts": "import { helper } from './h';\nexport default helper;", "h.ts": HELPER},
        "helped x",
    ),
    ".js for .ts": (
        {"m.ts": "import { helper } from './h.js';\nexport default helper;", "h.ts": HELPER},
        "helped x",
    ),
    ".mjs for .mts": (
        {"m.ts": "import { helper } from './h.mjs';\nexport default helper;", "h.mts": HELPER},
        "helped x",
    ),
    "a folder": (
        {"m.ts": "import { helper } from './lib';\nexport default helper;", "lib/index.ts": HELPER},
        "helped x",
    ),
    "the folder above": (
        {"a/m.ts": "import { helper } from '..';\nexport default helper;", "index.ts": HELPER},
        "helped x",
    ),
    "exported again": (
        {
            "m.ts": "export * from './h';\nexport { helper as default } from './h.js';",
            "h.ts": HELPER,
        },
        "helped x",
    ),
    "on the way": (
        {
            "m.ts": "export default async (x: string) => (await import('./h')).helper(x);",
            "h.ts": HELPER,
        },
        "helped x",
    ),
    "a type without the word": (
        {
            "m.ts": "import { T, helper } from './h';\nexport default (x: T) => helper(x);",
            "h.ts": f"export type T = string;\n{HELPER}",
        },
        "helped x",
    ),
    "types of a package that is not there": (
        {
            "m.ts": "import { P } from 'promptfoo';\nimport type { X } from 'y';\n"
            "export default (x: P) => x;"
        },
        "x",
    ),
    "a list of types over several lines": (
        {
            "m.ts": "import {\n  A, // one\n  B,\n  helper,\n} from './h';\nexport default (x: A & B) => helper(x);",
            "h.ts": f"export interface A {{}}\nexport interface B {{}}\n{HELPER}",
        },
        "helped x",
    ),
    "JSON": (
        {"m.ts": "import d from './d.json';\nexport default () => d.a;", "d.json": '{"a": "json"}'},
        "json",
    ),
    "a name in JSON": (
        {
            "m.ts": "import { a } from './d.json';\nexport default () => a;",
            "d.json": '{"a": "json"}',
        },
        "json",
    ),
    "paths of tsconfig": (
        {
            "m.ts": "import { helper } from '@lib/h';\nexport default helper;",
            "src/h.ts": HELPER,
            "tsconfig.json": '{ // so\n "compilerOptions": { "paths": { "@lib/*": ["./src/*"], } } }',
        },
        "helped x",
    ),
    "baseUrl of tsconfig": (
        {
            "m.ts": "import { helper } from 'src/h';\nexport default helper;",
            "src/h.ts": HELPER,
            "tsconfig.json": '{"extends": "./other.json"}',
            "other.json": '{"compilerOptions": {"baseUrl": "."}}',
        },
        "helped x",
    ),
    "require of TypeScript": (
        {
            "m.ts": "const { helper } = require('./h');\nmodule.exports = (x: string) => helper(x);",
            "h.ts": HELPER,
        },
        "helped x",
    ),
    "require beside import": (
        {
            "m.ts": "import { sep } from 'path';\nconst p = require('path');\nexport default () => p.sep === sep;"
        },
        "True",
    ),
    "__dirname beside export": (
        {"sub/m.ts": "import { basename } from 'path';\nexport default () => basename(__dirname);"},
        "sub",
    ),
    "import = and export =": (
        {
            "m.cts": "import path = require('path');\nexport = (x: string) => path.basename('a/' + x);"
        },
        "x",
    ),
    "a module of JavaScript": (
        {
            "m.ts": "import { helper } from './h.mjs';\nexport default helper;",
            "h.mjs": "export const helper = (x) => 'js ' + x;",
        },
        "js x",
    ),
    "a package of type module": (
        {
            "m.ts": "import { helper } from './h';\nexport default helper;",
            "h.ts": HELPER,
            "package.json": '{"type": "module"}',
        },
        "helped x",
    ),
    "what only looks like a decorator": (
        {
            "m.ts": "const t: string = `a\n@b`; /* @c */ // @d\nexport default () => t.slice(2) + /@e/.source;"
        },
        "@b@e",
    ),
    "a circle": (
        {
            "m.ts": "import { b } from './b';\nexport const a = 'a';\nexport default () => b();",
            "b.ts": "import { a } from './m';\nexport const b = (): string => a;",
        },
        "a",
    ),
}
BROKEN: Mapping[str, tuple[Mapping[str, str], str]] = {
    "a file that is not there": (
        {"m.ts": "import { x } from './none';\nexport default () => x;"},
        "none",
    ),
    "a package that is not there": (
        {"m.ts": "import x from 'nobody-has-this';\nexport default () => x;"},
        "nobody-has-this",
    ),
    "a name that is not exported": (
        {"m.ts": "import { x } from './h';\nexport default () => x;", "h.ts": HELPER},
        "'x'",
    ),
    "what is no TypeScript": ({"m.ts": "export default (x: string => x;"}, "SyntaxError"),
    "an error at the top": (
        {"m.ts": "throw new Error('at once');\nexport default () => 1;"},
        "at once",
    ),
    "no function": ({"m.ts": "export default 3;"}, "not a function"),
    "an end at the top": ({"m.ts": "process.exit(3);\nexport default () => 1;"}, "ended"),
}


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """The files in a folder; the one that is called."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / next(name for name in files if Path(name).stem == "m")


@needs_typescript
@pytest.mark.parametrize("name", FILES)
async def test_typescript_runs_as_promptfoos_loader_runs_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Node itself takes no notice of, too."""
    monkeypatch.chdir(tmp_path)
    files, answer = FILES[name]
    script = function(written(tmp_path, files))
    assert problems(script) == []
    with CodeHost().open() as host:
        assert str((await call(host, script, "x")).value) == answer


@needs_typescript
@pytest.mark.parametrize("name", BROKEN)
def test_typescript_that_cannot_be_loaded_is_found_before_anything_is_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a function and, but for what it exports, as a provider."""
    monkeypatch.chdir(tmp_path)
    files, said = BROKEN[name]
    path = written(tmp_path, files)
    ((what, _),) = problems(function(path))
    assert said in what
    assert bool(problems(provider(path, "", {}))) == (name != "no function")


@needs_typescript
def test_a_provider_in_typescript_is_not_made_before_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is loaded, and its class left alone."""
    monkeypatch.chdir(tmp_path)
    code = "export default class { constructor() { throw new Error('made') } callApi() {} }"
    path = written(tmp_path, {"m.ts": code})
    assert problems(provider(path, "", {})) == []


@needs_typescript
async def test_an_error_in_typescript_names_the_line_that_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the code was transformed."""
    monkeypatch.chdir(tmp_path)
    code = "enum K {\n  A,\n}\ninterface X {\n  a: string;\n}\nexport default (x: X) => {\n"
    code += "  throw new Error('here' + K.A);\n};"
    script = function(written(tmp_path, {"m.ts": code}))
    with CodeHost().open() as host, pytest.raises(Exception, match="here0") as error:
        await call(host, script, "x")
    assert "8" in f"{error.value} {getattr(error.value, 'hint', '')}"


DECORATED = """
const seal = (value: any, _context: any) => value;
@seal
class A {}
export default (x: string) => x;
"""
ESBUILD = """
exports.transformSync = (source, settings) => ({
  code: `export default () => 'esbuild ${settings.loader} ${JSON.stringify(settings.tsconfigRaw.compilerOptions)}';`,
});
"""
TYPESCRIPT = """
exports.convertCompilerOptionsFromJson = (options) => ({ options });
exports.transpileModule = (source, { compilerOptions }) => ({
  outputText: `export default () => "typescript ${compilerOptions.experimentalDecorators} ${compilerOptions.jsx}";`,
});
"""
TSCONFIG = '{"compilerOptions": {"experimentalDecorators": true, "strict": true}}'
OF_COMPILERS: Mapping[str, tuple[Mapping[str, str], str]] = {
    "decorators": (
        {"m.ts": DECORATED, "tsconfig.json": TSCONFIG},
        'ts {"experimentalDecorators":true}',
    ),
    "JSX in an import": (
        {
            "m.ts": "import f from './view';\nexport default f;",
            "view.tsx": "export default () => <b/>;",
        },
        "tsx {}",
    ),
    "JSX in JavaScript": (
        {
            "m.ts": "import f from './view';\nexport default f;",
            "view.jsx": "export default () => <b/>;",
        },
        "jsx {}",
    ),
}


@needs_typescript
@pytest.mark.parametrize("name", OF_COMPILERS)
async def test_what_node_does_not_transform_a_compiler_of_the_users_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Either of the two, by what tsconfig.json says of it; without one the refusal says what to install."""
    monkeypatch.chdir(tmp_path)
    files, settings = OF_COMPILERS[name]
    path = written(tmp_path, files)
    ((what, _),) = problems(function(path))
    assert ("decorators (line 3)" if name == "decorators" else "JSX") in what
    assert "npm install --save-dev esbuild" in what
    for package, code, answer in (
        (
            "typescript",
            TYPESCRIPT,
            "typescript true react" if name == "decorators" else "typescript undefined react",
        ),
        ("esbuild", ESBUILD, f"esbuild {settings}"),
    ):
        (tmp_path / "node_modules" / package).mkdir(parents=True)
        (tmp_path / "node_modules" / package / "index.js").write_text(code)
        with CodeHost().open() as host:
            said = str((await call(host, function(path), "x")).value)
        assert said == answer
