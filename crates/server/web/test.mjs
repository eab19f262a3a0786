// Runs the tests in `tests`, which need no browser: each is built with what it imports, and run by Node.
import { build } from 'esbuild';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'attache-chat-'));
const entryPoints = readdirSync(join(here, 'tests')).filter((name) => name.endsWith('.test.ts')).map((name) => join(here, 'tests', name));
await build({ entryPoints, bundle: true, platform: 'node', format: 'esm', outdir: folder, outExtension: { '.js': '.mjs' }, logLevel: 'warning' });
const files = readdirSync(folder).map((name) => join(folder, name));
run({ files })
  .on('test:fail', () => (process.exitCode = 1))
  .on('end', () => rmSync(folder, { recursive: true, force: true }))
  .compose(spec)
  .pipe(process.stdout);
