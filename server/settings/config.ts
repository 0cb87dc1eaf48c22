import { readFileSync } from 'node:fs'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import { decodeUtf8 } from '../../core/bytes.ts'
import { parseStrictJson } from '../../core/commitment/canonical-json.ts'
import {
  flagOf,
  parseSetting,
  SETTINGS,
  settingRows,
  variableOf,
  type Config,
  type Setting,
  type SettingName,
} from './settings.ts'

export { SETTINGS, settingRows, type Config, type SettingRow } from './settings.ts'

/** Where settings come from. Only the caller of `loadConfig` reads the process's own. */
export interface ConfigSources {
  /** Arguments after the script's name. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Reads a file as bytes; throws where it cannot. Default: from disk. */
  readonly readFile?: (path: string) => Uint8Array
}

/** What a start is asked for: to run, or to print `text` and end. */
export type Start = { readonly run: Config } | { readonly text: string }

const CONFIG_VARIABLE = 'EVIDENCE_CONFIG'
const names = Object.keys(SETTINGS) as SettingName[]
const isSecret = (name: SettingName): boolean => (SETTINGS[name] as Setting<unknown>).secret === true

/** A raw value and where it came from, for the error that names it. */
interface Given {
  readonly source: string
  readonly value: string
}
type Values = Partial<Record<SettingName, Given>>

/**
 * The configuration: flags before environment before the file before fallbacks. Throws `CONFIG_ERROR`, one line, for an
 * unknown flag, `EVIDENCE_…` variable or key of the file, and for a value that its setting does not take.
 */
export function loadConfig({ args, env, readFile = (path) => readFileSync(path) }: ConfigSources): Start {
  const flags = fromFlags(args)
  if (flags.help) return { text: helpText() }
  const fromEnv = fromVariables(env, readFile)
  const file =
    flags.config ?? (env[CONFIG_VARIABLE] ? { source: CONFIG_VARIABLE, value: env[CONFIG_VARIABLE] } : undefined)
  const given: Values = { ...(file && fromFile(file, readFile)), ...fromEnv, ...flags.values }
  const config: Record<string, unknown> = {}
  for (const name of names) {
    const raw = given[name]
    config[name] = raw === undefined ? SETTINGS[name].fallback : parseSetting(name, raw.source, raw.value)
  }
  return { run: config as Config }
}

function fromFlags(args: readonly string[]): { values: Values; config?: Given; help: boolean } {
  const values: Values = {}
  let config: Given | undefined
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string
    if (arg === '--help' || arg === '-h') return { values, help: true }
    const [flag, joined] = splitOnce(arg)
    const name = names.find((candidate) => flagOf(candidate) === flag && !isSecret(candidate))
    if (name === undefined && flag !== '--config') throw unknownFlag(flag)
    const isSwitch = name !== undefined && (SETTINGS[name] as Setting<unknown>).flag === 'switch'
    const value = joined ?? (isSwitch ? 'true' : args[++i])
    if (value === undefined) throw new RegistryError('CONFIG_ERROR', `${flag} needs a value`)
    if (name === undefined) config = { source: flag, value }
    else values[name] = { source: flag, value }
  }
  return { values, help: false, ...(config && { config }) }
}

function splitOnce(arg: string): [string, string | undefined] {
  const at = arg.indexOf('=')
  return at === -1 ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)]
}

function unknownFlag(flag: string): RegistryError {
  const secret = names.find((name) => flagOf(name) === flag)
  // A command line is seen by every user of the machine.
  const why = secret
    ? `${flag} is a secret: set ${variableOf(secret)} or ${variableOf(secret)}_FILE instead`
    : `There is no flag ${flag}: --help lists them all`
  return new RegistryError('CONFIG_ERROR', why)
}

function fromVariables(env: ConfigSources['env'], readFile: (path: string) => Uint8Array): Values {
  const values: Values = {}
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith('EVIDENCE_') || variable === CONFIG_VARIABLE || value === undefined) continue
    const name = names.find((candidate) => variableOf(candidate) === variable)
    const secret = names.find((candidate) => isSecret(candidate) && `${variableOf(candidate)}_FILE` === variable)
    if (name !== undefined) {
      if (value !== '') values[name] = { source: variable, value }
    } else if (secret !== undefined) {
      if (env[variableOf(secret)])
        throw new RegistryError('CONFIG_ERROR', `Set ${variableOf(secret)} or ${variable}, not both`)
      values[secret] = { source: variable, value: readText(variable, value, readFile).trimEnd() }
    } else throw new RegistryError('CONFIG_ERROR', `There is no setting ${variable}: --help lists them all`)
  }
  return values
}

function fromFile({ source, value: path }: Given, readFile: (path: string) => Uint8Array): Values {
  const content = parseFile(source, path, readFile)
  const values: Values = {}
  for (const [key, value] of Object.entries(content)) {
    const name = names.find((candidate) => candidate === key)
    if (name === undefined)
      throw new RegistryError('CONFIG_ERROR', `${path}: there is no setting ${key.slice(0, 64)}: --help lists them all`)
    const scalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    values[name] = { source: `${path}: ${key}`, value: scalar ? String(value) : JSON.stringify(value) }
  }
  return values
}

function parseFile(source: string, path: string, readFile: (path: string) => Uint8Array): object {
  let content: unknown
  try {
    content = parseStrictJson(readText(source, path, readFile))
  } catch (cause) {
    if (isRegistryError(cause, 'CONFIG_ERROR')) throw cause
    throw new RegistryError('CONFIG_ERROR', `${source}: ${path} is not valid JSON`, { cause })
  }
  if (typeof content === 'object' && content !== null && !Array.isArray(content)) return content
  throw new RegistryError('CONFIG_ERROR', `${source}: ${path} must hold a JSON object of settings`)
}

function readText(source: string, path: string, readFile: (path: string) => Uint8Array): string {
  try {
    return decodeUtf8(readFile(path))
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'not UTF-8'
    throw new RegistryError('CONFIG_ERROR', `${source}: the file ${path} cannot be read (${reason})`, { cause })
  }
}

function helpText(): string {
  const lines = settingRows().map(
    ({ flag, variable, fallback, takes, doc }) =>
      `  ${flag}\n      ${doc}.\n      ${variable}; takes ${takes}; default: ${fallback}.`,
  )
  return `Usage: node server/main.js [flags]
       evidence-registry fsck | migrate | migrate-blobs [flags], each with a --help of its own

Each setting is taken from its flag, else from its environment variable, else from the JSON file that
--config or ${CONFIG_VARIABLE} names (keys in camelCase, as in "dataDir"), else its default. Secrets have no flag;
their variable with _FILE at its end names a file that holds them. A wrong or unknown setting ends the start with code 2.

${lines.join('\n')}
`
}
