import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { errnoOf } from '../../adapters/files/index.ts'
import { messageOf, STORE_MEMBERS } from '../../adapters/kit/index.ts'
import type { Anchor, CheckpointSigner, TimestampAuthority } from '../../adapters/kit/index.ts'
import { isRegistryError, RegistryError, type BlobStore, type Logger, type RecordStore } from '../../core/index.ts'
import { configError } from '../settings/config-error.ts'
import type { Config } from '../settings/load.ts'
import { variableOf } from '../settings/schema.ts'

/** What a module can open, by the setting that names the module. */
interface Ports {
  readonly records: RecordStore
  readonly blobs: BlobStore
  readonly tsa: TimestampAuthority
  readonly anchor: Anchor
  readonly checkpointKeys: CheckpointSigner
}

/** What each of them must have. `core/ports` says what it must do. */
const MEMBERS = {
  ...STORE_MEMBERS,
  tsa: ['info', 'stamp', 'validationDataOf', 'close'],
  anchor: ['info', 'prepare', 'broadcast', 'status', 'findForeignUse', 'close', 'funds'],
  checkpointKeys: ['publicKeys', 'sign'],
} as const

/** Whether a setting names a module: the words that it accepts contain none of these characters. */
export const namesModule = (value: string): boolean => /[./\\]/.test(value)

/** Whether the setting of the checkpoint keys names a module, and not the file of a keyring. */
export const namesSigner = ({ checkpointKeys = '' }: Pick<Config, 'checkpointKeys'>): boolean =>
  /\.[cm]?js$/.test(checkpointKeys)

/**
 * Loads the module that a setting names, and opens the port with its default export, which gets the server's log and
 * its data directory.
 *
 * @throws RegistryError `CONFIG_ERROR` if there is no such module or port, `UNAVAILABLE` if it cannot be opened
 */
export async function openModule<N extends keyof Ports>(
  name: N,
  config: Pick<Config, N | 'dataDir'>,
  logger: Logger,
): Promise<Ports[N]> {
  const path = resolve(config[name] ?? '')
  const source = `${variableOf(name)}: the module ${path}`
  const open = await load(source, path)
  const part = await call(source, open, { logger, dataDir: resolve(config.dataDir) })
  if (isPort(name, part)) return part
  const missing = missingIn(name, part).join(', ')
  throw configError(`${source} must return an object with ${missing}: adapters/README.md says what each of them does`)
}

async function load(source: string, path: string): Promise<unknown> {
  if (!existsSync(path))
    throw configError(`${source} does not exist: correct the path, which begins at the working directory`)
  try {
    // eslint-disable-next-line import/no-dynamic-require -- the operator names it
    const loaded: { readonly default?: unknown } = await import(pathToFileURL(path).href)
    return loaded.default
  } catch (cause) {
    throw configError(`${source} cannot be loaded: ${messageOf(cause)}. Correct it, or install what it imports`, cause)
  }
}

async function call(source: string, open: unknown, context: object): Promise<unknown> {
  if (typeof open !== 'function')
    throw configError(`${source} must have a function as its default export: export default async ({ logger }) => …`)
  try {
    return await open(context)
  } catch (cause) {
    if (isRegistryError(cause)) throw cause
    const code = errnoOf(cause)
    const reason = `${messageOf(cause)}${code === undefined ? '' : ` (${code})`}`
    throw new RegistryError('UNAVAILABLE', `${source} failed: ${reason}. Repair what it uses, or the module`, { cause })
  }
}

const missingIn = (name: keyof Ports, part: unknown): readonly string[] =>
  MEMBERS[name].filter((member) => Reflect.get(Object(part), member) === undefined)

const isPort = <N extends keyof Ports>(name: N, part: unknown): part is Ports[N] => missingIn(name, part).length === 0
