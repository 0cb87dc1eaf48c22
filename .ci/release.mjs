// Makes what a release publishes, in a folder: the package, its SBOMs, the proof that the package was recorded with the
// policy of that log, and SHA256SUMS. Needs `npm ci` before, and git. `CI_FULL=1 bash .ci/run` runs it, too.
//
//   node .ci/release.mjs FOLDER      an empty one
//
// EVIDENCE_TSA and its settings name the authority that stamps the proof. Without them it is the embedded one.
import { execFile, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const cli = join(root, 'dist/server/cli.js')

/** Runs a program, and returns its output. Throws unless it succeeds. */
async function run(cwd, program, args, env = process.env) {
  const { stdout } = await promisify(execFile)(program, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 })
  return stdout
}

/** Builds what is stale, packs, and returns the path of the package. */
async function pack(checkout, to) {
  mkdirSync(to, { recursive: true })
  const output = await run(checkout, 'npm', ['pack', '--silent', '--pack-destination', to])
  return join(to, output.trim().split('\n').at(-1))
}

/** Packs here and in a clean copy of the commit. Throws unless both packages have the same bytes. */
async function packTwice(folder, work, copy) {
  await run(root, 'git', ['clone', '--quiet', root, copy])
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const [first, second] = [await pack(root, folder), await pack(copy, join(work, 'again'))]
  if (readFileSync(first).equals(readFileSync(second))) return first
  throw new Error(`${first} differs from the package of a clean copy: is everything committed?`)
}

/** In the copy, because npm names what it describes by the name of the folder. */
async function writeSboms(folder, copy) {
  for (const format of ['cyclonedx', 'spdx']) {
    const args = ['sbom', '--omit=dev', '--package-lock-only', `--sbom-format=${format}`]
    writeFileSync(join(folder, `sbom.${format}.json`), await run(copy, 'npm', args))
  }
}

/** Returns the address of the server once it is ready. */
async function addressOf(server) {
  for await (const line of createInterface({ input: server.stdout })) {
    const { msg, url } = JSON.parse(line)
    if (msg === 'ready') return url
  }
  throw new Error('The server ended before it was ready')
}

/** Records the package on a server of this build, and verifies the proof as a stranger does. */
async function prove(tarball, folder, work) {
  const operatorKey = randomBytes(24).toString('hex')
  const settings = {
    EVIDENCE_DATA_DIR: join(work, 'data'),
    EVIDENCE_PORT: '0',
    EVIDENCE_OPERATOR_KEY: operatorKey,
    EVIDENCE_TSA_INTERVAL_MS: '0',
    EVIDENCE_ANCHOR: 'none',
  }
  const env = { ...process.env, ...settings }
  const server = spawn(process.execPath, [cli], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const url = await addressOf(server)
    server.stdout.resume()
    const { createClient } = await import(pathToFileURL(join(root, 'dist/server/client/index.js')).href)
    const client = createClient({ baseUrl: `${url}/api/v1`, companyId: 'releases', apiKey: operatorKey })
    const { apiKey } = await client.createSourceSystem({ name: 'release', permissions: 'U' })
    const registry = (command, ...args) =>
      run(folder, process.execPath, [cli, command, '--url', url, '--company', 'releases', ...args], {
        ...process.env,
        EVIDENCE_API_KEY: apiKey,
      })
    const commit = (await run(root, 'git', ['rev-parse', 'HEAD'])).trim()
    await registry('add', '--category', 'Software/Packages', '--meta', `commit=${commit}`, tarball)
    await registry('bundle', '--wait', '300', basename(tarball))
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(await client.getPolicy()))
  } finally {
    server.kill()
  }
  const required = ['--policy', 'policy.json', '--file', basename(tarball), '--require', 'timestamp']
  const bundle = `${basename(tarball)}.evidence.json`
  return run(folder, process.execPath, [join(root, 'dist/verify.mjs'), bundle, ...required])
}

function writeChecksums(folder) {
  const lines = readdirSync(folder).map((name) => {
    const digest = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
    return `${digest}  ${name}\n`
  })
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''))
}

if (process.argv[2] === undefined) throw new Error('Name the folder: node .ci/release.mjs FOLDER')
const folder = resolve(process.argv[2])
mkdirSync(folder, { recursive: true })
if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty`)
const work = mkdtempSync(join(tmpdir(), 'evidence-release-'))
try {
  const copy = join(work, 'evidence-registry')
  const tarball = await packTwice(folder, work, copy)
  process.stdout.write(`${basename(tarball)}: two builds have the same bytes\n`)
  await writeSboms(folder, copy)
  process.stdout.write(await prove(tarball, folder, work))
  writeChecksums(folder)
} finally {
  rmSync(work, { recursive: true, force: true })
}
