// Builds the chat into `dist`, which is committed, so that nobody needs Node to build the server.
// `node build.mjs --check` builds nothing and fails if `dist` is not what the sources build.
import { build, transform } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

/** The most bytes that a page loads before the chat is there, after gzip. */
const MOST = 75_000;

const here = dirname(fileURLToPath(import.meta.url));
const check = process.argv.includes('--check');

/** Every file under a folder, as paths with `/`, in the order of their names. */
function files(folder, prefix = '') {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? files(path, `${prefix}${name}/`) : [`${prefix}${name}`];
    });
}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** One hash of all that the bundle is made of. The server's tests compute it too. */
function sources() {
  const hash = createHash('sha256');
  const all = ['build.mjs', 'package-lock.json', 'package.json', 'tsconfig.json'];
  for (const file of [...all, ...files(join(here, 'src')).map((file) => `src/${file}`)]) {
    hash.update(`${file}\n${sha256(readFileSync(join(here, file)))}\n`);
  }
  return hash.digest('hex');
}

/** Style sheets become small texts, and templates lose the white space between their lines. */
const small = {
  name: 'small',
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, 'utf8'), { loader: 'css', minify: true, target: 'chrome111' });
      return { contents: code.trim(), loader: 'text' };
    });
    onLoad({ filter: /src\/(parts\/\w+|element)\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/(?<=[>}])\n\s+(?=<)/g, ' ').replace(/(?<=["}])\n\s+(?=[@.?a-z-]+=)/g, ' '),
      loader: 'ts',
    }));
  },
};

/**
 * DOMPurify without the names that it lets through by itself: the chat names its own (`markdown/clean.ts`). Its checks of
 * namespaces know fewer names of SVG and MathML then, and take less for elements of those.
 */
const LISTS = ['html$1', 'svg$1', 'svgFilters', 'mathMl$1', 'html', 'svg', 'mathMl', 'xml'];
const purified = {
  name: 'purified',
  setup({ onLoad }) {
    onLoad({ filter: /purify\.es\.mjs$/ }, ({ path }) => {
      let contents = readFileSync(path, 'utf8');
      for (const name of LISTS) {
        const parts = contents.split(new RegExp(`(?<=^const ${name.replace('$', '\\$')} = freeze\\(\\[)[^\\]]*(?=\\]\\);$)`, 'm'));
        if (parts.length !== 2) {
          throw new Error(`DOMPurify has ${parts.length - 1} lists with the name ${name}, not one: look whether it uses them in another way now`);
        }
        contents = parts.join('');
      }
      return { contents, loader: 'js' };
    });
  },
};

/** `marked` without the class that joins wishes of pages, of which the chat has none, and without what stands behind it. */
const parted = {
  name: 'parted',
  setup({ onLoad }) {
    onLoad({ filter: /marked\.esm\.js$/ }, ({ path }) => {
      const parts = readFileSync(path, 'utf8').split(/var \w+=class\{defaults=[^]*?(?=export\{)/);
      const names = ['Lexer', 'Parser', 'Renderer'].map((name) => new RegExp(`[{,](\\w+ as ${name})[,}]`).exec(parts[1] ?? '')?.[1]);
      if (parts.length !== 2 || names.includes(undefined)) {
        throw new Error('marked has no class of its name before its exports: look how it is made now');
      }
      return { contents: `${parts[0]}export{${names.join(',')}};`, loader: 'js' };
    });
  },
};

/** Modules that the first file holds are taken from it by the later one. */
const shared = {
  name: 'shared',
  setup({ onResolve, onLoad }) {
    const held = new Set([...readFileSync(join(here, 'src/shared.ts'), 'utf8').matchAll(/ from '(.+)'/g)].map(([, path]) => path.replace('./', '')));
    onResolve({ filter: /./ }, ({ path, resolveDir }) => {
      const name = path.startsWith('.') ? relative(join(here, 'src'), resolve(resolveDir, path)).replaceAll('\\', '/') : path;
      return held.has(name) ? { path: name, namespace: 'shared' } : undefined;
    });
    onLoad({ filter: /./, namespace: 'shared' }, ({ path }) => ({
      contents: `module.exports = globalThis[Symbol.for('attache.shared')][${JSON.stringify(path)}]`,
      loader: 'js',
    }));
  },
};

/** The files of `dist`, by name. */
async function bundle() {
  const common = {
    bundle: true,
    minify: true,
    charset: 'utf8',
    target: 'es2022',
    legalComments: 'none',
    write: false,
    absWorkingDir: here,
    logLevel: 'warning',
    plugins: [small, purified, parted],
  };
  const main = await build({ ...common, entryPoints: ['src/main.ts'], format: 'iife' });
  const code = await build({ ...common, entryPoints: ['src/markdown/code.ts'], format: 'esm' });
  const math = await build({ ...common, entryPoints: ['src/markdown/math.ts'], format: 'esm' });
  const more = await build({ ...common, plugins: [small, shared], entryPoints: ['src/more.ts'], format: 'esm' });
  const all = new Map([
    ['attache-chat.js', Buffer.from(main.outputFiles[0].contents)],
    ['attache-code.js', Buffer.from(code.outputFiles[0].contents)],
    ['attache-math.js', Buffer.from(math.outputFiles[0].contents)],
    ['attache-more.js', Buffer.from(more.outputFiles[0].contents)],
    ['index.html', readFileSync(join(here, 'src/index.html'))],
    ['LICENSES.txt', Buffer.from(licences())],
  ]);
  const words = join(here, 'src/words');
  for (const file of readdirSync(words).filter((name) => name.endsWith('.json'))) {
    all.set(`words/${file}`, Buffer.from(JSON.stringify(JSON.parse(readFileSync(join(words, file), 'utf8')))));
  }
  return all;
}

/** The licences of what stands in the bundle. */
function licences() {
  const names = ['lit', 'lit-html', 'lit-element', '@lit/reactive-element', 'marked', 'dompurify', 'highlight.js', 'eventsource-parser', 'temml'];
  return names
    .map((name) => {
      const folder = join(here, 'node_modules', name);
      const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const file = readdirSync(folder).find((file) => /^licen[sc]e(\.md|\.txt)?$/i.test(file));
      return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

const all = await bundle();
const first = gzipSync(all.get('attache-chat.js'), { level: 9 }).length;
if (first > MOST) {
  console.error(`attache-chat.js has ${first} bytes after gzip, more than ${MOST}`);
  process.exit(1);
}
// Another Node may compress to other bytes, so that these are no part of the check.
const packed = ['attache-chat.js', 'attache-code.js', 'attache-math.js', 'attache-more.js'];
const hashes = Object.fromEntries([...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, bytes]) => [name, sha256(bytes)]));
const manifest = `${JSON.stringify({ sources: sources(), first, files: hashes }, null, 2)}\n`;
const dist = join(here, 'dist');
if (check) {
  const differs = [...all].filter(([name, bytes]) => !readFileSync(join(dist, name)).equals(bytes)).map(([name]) => name);
  const other = JSON.parse(readFileSync(join(dist, 'manifest.json'), 'utf8')).sources !== sources();
  if (differs.length > 0 || other) {
    console.error(`dist is not what the sources build (${differs.join(', ') || 'manifest.json'}): cargo xtask web`);
    process.exit(1);
  }
} else {
  rmSync(dist, { recursive: true, force: true });
  for (const [name, bytes] of all) {
    mkdirSync(dirname(join(dist, name)), { recursive: true });
    writeFileSync(join(dist, name), bytes);
  }
  for (const name of packed) {
    writeFileSync(join(dist, `${name}.gz`), gzipSync(all.get(name), { level: 9 }));
  }
  writeFileSync(join(dist, 'manifest.json'), manifest);
}
console.log(`attache-chat.js: ${first} bytes after gzip`);
