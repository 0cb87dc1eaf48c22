import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { readSecret } from '../../adapters/files/index.ts'
import { createWitnessClient } from '../../adapters/witness/index.ts'
import { isRegistryError, RegistryError, systemClock } from '../../core/index.ts'
import { loadSettings, type Config, type LoadedSettings } from '../settings/load.ts'
import { Settings, variableOf } from '../settings/schema.ts'
import { anchorOptions } from '../startup/anchor.ts'
import { openBlobs } from '../startup/blobs.ts'
import { keyringPath, openSigner } from '../startup/checkpoint-keys.ts'
import { LEAST_FREE_BYTES } from '../startup/failed-store.ts'
import { describeFailure } from '../startup/failure.ts'
import { readMarkers } from '../startup/markers.ts'
import { stderrLogger } from '../startup/logger.ts'
import { namesModule } from '../startup/own-module.ts'
import { assertSharable, openOutside, openRecords } from '../startup/records.ts'
import { assertConsistent, authorityLabels, openTimestampAuthorities } from '../startup/timestamp-authorities.ts'
import { namedWitnesses } from '../startup/witnesses.ts'
import type { CommandInput } from './command.ts'

const HELP = `Usage: evidence-registry config check [flags of the server]

Prints the settings that a start would have, and where each comes from. Then tries each store, authority, chain
and witness once. It starts no server, and can run beside one: LevelDB, local files, and the embedded authority and
ledger are not opened.

Exit codes: 0 all of them work; 1 one of them does not; 2 a wrong flag or setting.
`

/** `evidence-registry config check`. */
export async function configCheckCommand({ args, env }: CommandInput): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP)
    return 0
  }
  try {
    const settings = loadSettings({ args, env })
    for (const line of settingLines(settings)) print(line)
    return await tryAll(settings.config)
  } catch (error) {
    process.stderr.write(`evidence-registry config check: ${describeFailure(error, undefined)}\n`)
    return 2
  }
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Each setting with its value and source. A secret is never shown. */
function* settingLines({ config, sources }: LoadedSettings): Generator<string> {
  const values = new Map<string, unknown>(Object.entries(config))
  for (const [name, { isSecret, shownDefault }] of Object.entries(Settings.properties)) {
    const source = sources.get(name)
    const value = source === undefined ? shownDefault : isSecret ? '(secret)' : String(values.get(name))
    yield `${variableOf(name)} = ${value}  [${source ?? 'default'}]`
  }
}

/** Returns what it found, for a line that begins with `ok`. */
type Attempt = () => Promise<string>

/** Tries one after the other. Returns the exit code. */
async function tryAll(config: Config): Promise<0 | 1> {
  let exitCode: 0 | 1 = 0
  for (const [what, attempt] of attemptsOf(config))
    try {
      print(`ok      ${what}: ${await attempt()}`)
    } catch (error) {
      exitCode = 1
      print(`FAILED  ${what}: ${describeFailure(error, undefined)}`)
    }
  return exitCode
}

/** Each node and each authority is tried alone, so that one that fails is not hidden by another. */
function* attemptsOf(config: Config): Generator<readonly [what: string, attempt: Attempt]> {
  const { records, blobs, tsa, tsaUrl, anchor, evmRpcUrl = [] } = config
  yield ['data directory', () => tryDirectory(config)]
  yield ['secrets and keys', () => tryKeys(config)]
  if (records !== 'level') yield [`records (${records})`, () => tryRecords(config)]
  if (blobs !== 'files') yield [`files (${blobs})`, () => tryBlobs(config)]
  if (namesModule(tsa)) yield [`timestamp authority (${tsa})`, () => tryStamp(config)]
  for (const [i, label] of authorityLabels(tsaUrl).entries())
    yield [`timestamp authority (${label})`, () => tryStamp(onlyAuthority(config, i))]
  if (namesModule(anchor)) yield [`anchor (${anchor})`, () => tryAnchor(config)]
  for (const [i, url] of evmRpcUrl.entries())
    yield [`EVM chain (node ${i + 1})`, () => tryAnchor({ ...config, evmRpcUrl: [url] })]
  for (const { name, url } of namedWitnesses(config))
    if (url !== undefined) yield [`witness (${name})`, () => tryWitness(config, url)]
}

/** The data directory, or the folder in which it will be created, and the markers of its volumes. */
async function tryDirectory(config: Config): Promise<string> {
  const directory = resolve(config.dataDir)
  let existing = directory
  while (!existsSync(existing)) existing = dirname(existing)
  await access(existing, constants.R_OK | constants.W_OK | constants.X_OK)
  await readMarkers(config)
  const { bavail, bsize } = await statfs(existing)
  const free = Math.floor((bavail * bsize) / 2 ** 20)
  if (bavail * bsize < LEAST_FREE_BYTES)
    throw new RegistryError('UNAVAILABLE', `The disk of ${existing} has only ${free} MiB free: free some space`)
  return `${directory}, ${existing === directory ? '' : 'to be created, '}${free} MiB free`
}

/** Settings that do not fit together, and the files that they name. Others are created at the first start. */
async function tryKeys(config: Config): Promise<string> {
  if (config.records === 'postgres') assertSharable(config)
  assertConsistent(config)
  if (config.anchor === 'evm' && config.evmRpcUrl === undefined) await tryAnchor(config)
  const secret = config.secretFile ?? join(config.dataDir, 'secret')
  if (config.secretFile !== undefined || existsSync(secret)) await readSecret(secret)
  if (config.checkpointKeys !== undefined || existsSync(keyringPath(config))) await trySigner(config)
  return 'they can be read, or the first start creates them'
}

/** Signs with each key: for a key management service this takes its permissions. */
async function trySigner(config: Config): Promise<void> {
  const signer = await openSigner(config)
  for (const key of await signer.publicKeys()) await signer.sign(key, randomBytes(32))
}

/** Closes what was opened to be tried. */
async function closing<T extends { close(): Promise<void> }>(part: T, use: (part: T) => Promise<string>) {
  try {
    return await use(part)
  } finally {
    await part.close()
  }
}

/** A store of a module may allow only one process, so the data directory is claimed for it, as a start does. */
async function tryRecords(config: Config): Promise<string> {
  const opening = namesModule(config.records) ? openRecords(config) : openOutside(config, { retryForMs: 0 })
  try {
    return await closing((await opening).records, async (records) => `${await records.logSize()} entries`)
  } catch (error) {
    if (isRegistryError(error, 'STORE_LOCKED')) return 'a running server has them open'
    throw error
  }
}

/** Opening a bucket stores, reads and deletes an object. */
const tryBlobs = async (config: Config): Promise<string> =>
  closing(await openBlobs(config, resolve(config.dataDir)), async (blobs) => {
    await blobs.get('config-check')
    return 'the store can be used'
  })

const onlyAuthority = (config: Config, i: number): Config => ({
  ...config,
  tsaUrl: config.tsaUrl.slice(i, i + 1),
  tsaCa: config.tsaCa.slice(i, i + 1),
  tsaPolicy: config.tsaPolicy.slice(i, i + 1),
})

/** The authority makes a stamp, so that its certificates and its policy are checked, too. */
async function tryStamp(config: Config): Promise<string> {
  for (const authority of await openTimestampAuthorities(config, config.dataDir, { logger: stderrLogger }))
    await closing(authority, async () => String(await authority.stamp(randomBytes(32))))
  return 'it made a stamp that verifies'
}

/** Signs a transaction, and does not send it. That takes the state of the account, the fees and enough coins. */
async function tryAnchor(config: Config): Promise<string> {
  const { anchor } = await anchorOptions(config, config.dataDir, { clock: systemClock, logger: stderrLogger })
  if (anchor === undefined) return 'none'
  return closing(anchor, async () => {
    await anchor.prepare({ checkpoint: randomBytes(300) })
    return `the account ${anchor.info.account ?? ''} can anchor`
  })
}

/** Asks for its newest checkpoint of a log that does not exist: 404 is right, and shows that it can be reached. */
async function tryWitness(proxies: Config, url: string): Promise<string> {
  await createWitnessClient({ proxies }).readCheckpoint(url, 'config-check')
  return 'it responds'
}
