import { parseArgs } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parseStrictJson, type RegistryError } from '../../core/index.ts'
import type { ProxySettings } from '../../adapters/rfc3161/index.ts'
import { isPath } from './setting.ts'
import { flagOf, Settings, variableOf, type Config as SettingValues, type SettingName } from './schema.ts'
import { configError } from './config-error.ts'
import { readTextFile, type ReadFile } from './text-file.ts'

export { settingRows, type SettingRow } from './help.ts'

/** The values of all settings, and the proxies. */
export type Config = SettingValues & ProxySettings

/** Variables by name, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Where settings come from. */
export interface ConfigSources {
  /** Arguments after the name of the program. */
  readonly args: readonly string[]
  readonly env: Environment
  /** Returns the bytes of a file, or throws. Default: reads from disk. */
  readonly readFile?: ReadFile
}

const hasProtocol =
  (...protocols: readonly string[]) =>
  (value: string): boolean =>
    URL.canParse(value) && protocols.includes(new URL(value).protocol)

const isHttpUrl = hasProtocol('http:', 'https:')

const isBaseUrl = (value: string): boolean => {
  if (!isHttpUrl(value)) return false
  const { search, hash, username, password } = new URL(value)
  return [search, hash, username, password].every((part) => part === '')
}

/** Checks all settings together, and fills in the defaults. */
const isConfig = new Ajv2020({ strict: true, useDefaults: true })
  .addVocabulary(['accepts', 'shownDefault', 'isSecret'])
  .addFormat('http-url', isHttpUrl)
  .addFormat('base-url', isBaseUrl)
  .addFormat('postgres-url', hasProtocol('postgres:', 'postgresql:'))
  .addFormat('origin', (value) => URL.canParse(value) && new URL(value).origin === value)
  .compile<SettingValues>(Settings)

const settings = Settings.properties
const settingNames = Object.keys(settings).filter((name): name is SettingName => Object.hasOwn(settings, name))

/** The option that names the configuration file. It has a flag and a variable, as a setting has. */
const CONFIG = 'config'
type Name = SettingName | typeof CONFIG
const names: readonly Name[] = [CONFIG, ...settingNames]

const isSecret = (name: Name): boolean => name !== CONFIG && settings[name].isSecret

/** A value of the setting may contain a secret: each format is that of a URL, where a password or a token may be. */
const mayHoldSecret = (name: SettingName): boolean => {
  const schema = settings[name]
  return isSecret(name) || 'format' in schema || ('items' in schema && 'format' in schema.items)
}

/** The type of JSON that a setting has, `undefined` for one of several. */
function kindOf(name: Name): string | undefined {
  const schema = name === CONFIG ? { type: 'string' } : settings[name]
  return 'type' in schema ? schema.type : undefined
}

/** A value, and where it came from, for errors. The text of a flag or variable is not yet of the setting's type. */
interface Given {
  readonly source: string
  readonly value: unknown
}

type Giving = readonly [name: Name, given: Given]

/** The settings, and from which flag, variable or key of the file each value came. A default came from nowhere. */
export interface LoadedSettings {
  readonly config: Config
  readonly sources: ReadonlyMap<string, string>
}

/** As `loadSettings`, without the sources. */
export const loadConfig = (sources: ConfigSources): Config => loadSettings(sources).config

/**
 * Loads the configuration. A flag overrides a variable, a variable overrides the file, and the file overrides the
 * default. Throws `CONFIG_ERROR` with one line for an unknown flag, an unknown `EVIDENCE_…` variable, an unknown key of
 * the file, and a value that its setting does not accept.
 */
export function loadSettings({ args, env, readFile }: ConfigSources): LoadedSettings {
  const named = new Map<Name, Given>([...readVariables(env, readFile), ...readFlags(args)])
  const file = named.get(CONFIG)
  const given = new Map<Name, Given>([...(file === undefined ? [] : readConfigFile(file, readFile)), ...named])
  const config: Record<string, unknown> = {}
  for (const name of settingNames) {
    const value = given.get(name)?.value
    if (value !== undefined) config[name] = valueOf(name, value)
  }
  const sources = new Map(Array.from(given, ([name, { source }]) => [name, source]))
  if (isConfig(config)) return { config: { ...config, ...proxiesOf(env) }, sources }
  throw wrongSetting(isConfig.errors?.[0]?.instancePath.slice(1) ?? '', given)
}

/** The proxies of the variables that other programs use, too, in small or capital letters. */
function proxiesOf(env: Environment): ProxySettings {
  const read = (name: string): string | undefined => env[name] || env[name.toUpperCase()]
  const [httpProxy, httpsProxy, noProxy] = [read('http_proxy'), read('https_proxy'), read('no_proxy')]
  return { ...(httpProxy && { httpProxy }), ...(httpsProxy && { httpsProxy }), ...(noProxy && { noProxy }) }
}

const DECIMAL = /^\d{1,15}(\.\d{1,9})?$/

/** Converts a text to the type of its setting. A text that has another form stays, and the schema refuses it. */
function valueOf(name: SettingName, value: unknown): unknown {
  if (typeof value !== 'string') return value
  const schema = settings[name]
  const kind = kindOf(name)
  if (kind === 'array') return value.split(',').map((item) => item.trim())
  if (kind === 'boolean') return value === 'true' || (value === 'false' ? false : value)
  if (kind !== 'string') return DECIMAL.test(value) ? Number(value) : value
  const isUrl = 'format' in schema && schema.format === 'base-url' && URL.canParse(value)
  return isUrl ? new URL(value).href.replace(/\/+$/, '') : value
}

/** As long as the shortest key. */
const SECRET_LENGTH = 16

/**
 * Names the flag, the variable or the file that gave the value. A value that may contain a secret is not shown, also
 * one that is set in a wrong place: it is long, or has the signs of a URL with a password.
 */
function wrongSetting(path: string, given: ReadonlyMap<Name, Given>): RegistryError {
  const name = settingNames.find((each) => each === path.split('/', 1)[0])
  if (name === undefined) throw new Error(`A setting without a default is required: ${path}`)
  const { source = name, value } = given.get(name) ?? {}
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const isShown = !mayHoldSecret(name) && text.length < SECRET_LENGTH && !/[:@{\n]/.test(text)
  const got = isShown ? `, got ${JSON.stringify(text)}` : ''
  return configError(`${source} must be ${settings[name].accepts}${got}`)
}

const FLAGS = Object.fromEntries(
  names.map((name) => [flagOf(name).slice(2), { type: kindOf(name) === 'boolean' ? 'boolean' : 'string' }] as const),
)

/** The settings that flags give. */
function* readFlags(args: readonly string[]): Generator<Giving> {
  const { tokens } = parseArgs({ args: [...args], options: FLAGS, strict: false, allowPositionals: true, tokens: true })
  for (const token of tokens) {
    if (token.kind === 'positional') throw unknown('command', token.value)
    const source = token.kind === 'option' ? token.rawName : '--'
    const name = names.find((each) => flagOf(each) === source)
    if (token.kind !== 'option' || name === undefined) throw unknown('flag', source)
    if (isSecret(name)) throw secretFlag(source, variableOf(name))
    const value = token.value ?? (kindOf(name) === 'boolean' ? 'true' : undefined)
    if (value === undefined) throw configError(`${source} needs a value`)
    yield [name, { source, value }]
  }
}

const unknown = (kind: string, name: string): RegistryError =>
  configError(`Unknown ${kind} ${name}; --help lists all of them`)

/** Every user of the machine can read a command line. */
const secretFlag = (flag: string, variable: string): RegistryError =>
  configError(`${flag} is a secret: set ${variable} or ${variable}_FILE instead`)

/**
 * The names and values of the variables that Kubernetes sets for each Service: its links
 * (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables).
 */
const SERVICE_LINKS: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/_(?:SERVICE_HOST|PORT_\d+_(?:TCP|UDP|SCTP)_ADDR)$/, /^[\dA-Fa-f]*[.:][\dA-Fa-f.:]+$/],
  [/_(?:SERVICE_PORT(?:_[A-Z\d_]+)?|PORT_\d+_(?:TCP|UDP|SCTP)_PORT)$/, /^\d{1,5}$/],
  [/_PORT_\d+_(?:TCP|UDP|SCTP)_PROTO$/, /^(?:tcp|udp|sctp)$/],
  [/_PORT(?:_\d+_(?:TCP|UDP|SCTP))?$/, /^(?:tcp|udp|sctp):\/\/.+:\d{1,5}$/],
]

/**
 * Whether a variable is a link of a Service whose name begins with `evidence`. `EVIDENCE_PORT` is one if that is the
 * whole name. A number alone could be of a misspelt setting, so it counts only beside its host.
 */
const isServiceLink = (name: string, value: string, env: Environment): boolean =>
  SERVICE_LINKS.some(([ofName, ofValue]) => ofName.test(name) && ofValue.test(value)) &&
  Object.hasOwn(env, name.replace(/_SERVICE_PORT.*/, '_SERVICE_HOST'))

/** The settings that variables give. One that is unknown is a typing error, so it is not ignored. */
function* readVariables(env: Environment, readFile?: ReadFile): Generator<Giving> {
  for (const [source, value] of Object.entries(env)) {
    // The key of commands that use the API.
    if (!source.startsWith('EVIDENCE_') || source === 'EVIDENCE_API_KEY' || value === undefined) continue
    if (isServiceLink(source, value, env)) continue
    const variable = (name: Name) =>
      source === `${variableOf(name)}_FILE` && isSecret(name) ? source : variableOf(name)
    const name = names.find((each) => variable(each) === source)
    if (name === undefined) throw unknown('setting', source)
    if (value === '') continue
    // What is not UTF-8 arrives so, and would be another secret.
    if (value.includes('\uFFFD')) throw configError(`${source} is not text in UTF-8: set it in UTF-8`)
    if (source === variableOf(name)) yield [name, { source, value }]
    else if (env[variableOf(name)]) throw configError(`Set ${variableOf(name)} or ${source}, not both`)
    else yield [name, { source, value: readTextFile(source, value, 'value', readFile).trimEnd() }]
  }
}

/** The settings that the file gives. */
function* readConfigFile({ source, value }: Given, readFile?: ReadFile): Generator<Giving> {
  const path = String(value)
  if (!isPath(path)) throw configError(`${source} must be a path`)
  for (const [key, member] of Object.entries(parseConfigFile(source, path, readFile))) {
    const name = settingNames.find((each) => each === key)
    if (name === undefined) throw configError(`${path}: unknown setting ${key.slice(0, 64)}; --help lists all of them`)
    yield [name, { source: `${path}: ${key}`, value: member }]
  }
}

function parseConfigFile(source: string, path: string, readFile?: ReadFile): object {
  const json = readTextFile(source, path, 'json', readFile)
  let content: unknown
  try {
    content = parseStrictJson(json)
  } catch (cause) {
    throw configError(`${source}: ${path} is not valid JSON`, cause)
  }
  if (typeof content === 'object' && content !== null && !Array.isArray(content)) return content
  throw configError(`${source}: ${path} must contain a JSON object of settings`)
}
