import { readFileSync } from 'node:fs'
import { errnoOf } from '../../adapters/files/index.ts'
import { parseStrictJson, RegistryError } from '../../core/index.ts'
import {
  flagOf,
  isSecret,
  parseSetting,
  settingNames,
  SETTINGS,
  variableOf,
  type Config,
  type SettingName,
} from './table.ts'

export { settingRows, type Config, type SettingRow } from './table.ts'

export type Environment = Readonly<Record<string, string | undefined>>

type ReadFile = (path: string) => Uint8Array

/** Where settings come from. */
export interface ConfigSources {
  /** Arguments after the name of the program. */
  readonly args: readonly string[]
  readonly env: Environment
  /** Returns the bytes of a file, or throws. Default: reads from disk. */
  readonly readFile?: ReadFile
}

const CONFIG_VARIABLE = 'EVIDENCE_CONFIG'

/** The text of a setting, and where it came from, for errors. */
interface SettingText {
  readonly source: string
  readonly value: string
}
type SettingTexts = Partial<Record<SettingName, SettingText>>

/**
 * Loads the configuration. A flag overrides a variable, a variable overrides the file, and the file overrides the
 * default. Throws `CONFIG_ERROR` with one line for an unknown flag, an unknown `EVIDENCE_…` variable, an unknown key of
 * the file, and a value that its setting does not accept.
 */
export function loadConfig({ args, env, readFile = (path) => readFileSync(path) }: ConfigSources): Config {
  const flags = parseFlags(args)
  const variables = readVariables(env, readFile)
  const fromVariable = env[CONFIG_VARIABLE] ? { source: CONFIG_VARIABLE, value: env[CONFIG_VARIABLE] } : undefined
  const file = flags.config ?? fromVariable
  const texts: SettingTexts = { ...(file && readConfigFile(file, readFile)), ...variables, ...flags.texts }
  const values = settingNames.map((name) => {
    const text = texts[name]
    return [name, text === undefined ? SETTINGS[name].fallback : parseSetting(name, text.source, text.value)] as const
  })
  return Object.fromEntries(values) as unknown as Config
}

function parseFlags(args: readonly string[]): { readonly texts: SettingTexts; readonly config?: SettingText } {
  const texts: SettingTexts = {}
  let config: SettingText | undefined
  for (let i = 0; i < args.length; i++) {
    const [flag, joined] = splitAtEquals(args[i] ?? '')
    const name = settingNames.find((candidate) => flagOf(candidate) === flag && !isSecret(candidate))
    if (name === undefined && flag !== '--config') throw unknownFlag(flag)
    const isSwitch = name !== undefined && SETTINGS[name].isSwitch === true
    const value = joined ?? (isSwitch ? 'true' : args[++i])
    if (value === undefined) throw new RegistryError('CONFIG_ERROR', `${flag} needs a value`)
    if (name === undefined) config = { source: flag, value }
    else texts[name] = { source: flag, value }
  }
  return { texts, ...(config && { config }) }
}

function splitAtEquals(arg: string): [string, string | undefined] {
  const at = arg.indexOf('=')
  return at === -1 ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)]
}

function unknownFlag(flag: string): RegistryError {
  const secret = settingNames.find((name) => flagOf(name) === flag)
  // Every user of the machine can read a command line.
  if (secret)
    return new RegistryError(
      'CONFIG_ERROR',
      `${flag} is a secret: set ${variableOf(secret)} or ${variableOf(secret)}_FILE instead`,
    )
  const kind = flag.startsWith('-') ? 'flag' : 'command'
  return new RegistryError('CONFIG_ERROR', `Unknown ${kind} ${flag}; --help lists all of them`)
}

function readVariables(env: Environment, readFile: ReadFile): SettingTexts {
  const texts: SettingTexts = {}
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith('EVIDENCE_') || variable === CONFIG_VARIABLE || value === undefined) continue
    const name = settingNames.find((candidate) => variableOf(candidate) === variable)
    const secret = settingNames.find((candidate) => isSecret(candidate) && `${variableOf(candidate)}_FILE` === variable)
    if (name !== undefined) {
      if (value !== '') texts[name] = { source: variable, value }
    } else if (secret !== undefined) {
      if (env[variableOf(secret)])
        throw new RegistryError('CONFIG_ERROR', `Set ${variableOf(secret)} or ${variable}, not both`)
      texts[secret] = { source: variable, value: readText(variable, value, readFile).trimEnd() }
    } else throw new RegistryError('CONFIG_ERROR', `Unknown setting ${variable}; --help lists all of them`)
  }
  return texts
}

function readConfigFile({ source, value: path }: SettingText, readFile: ReadFile): SettingTexts {
  const texts: SettingTexts = {}
  for (const [key, value] of Object.entries(parseConfigFile(source, path, readFile))) {
    const name = settingNames.find((candidate) => candidate === key)
    if (name === undefined)
      throw new RegistryError('CONFIG_ERROR', `${path}: unknown setting ${key.slice(0, 64)}; --help lists all of them`)
    const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    texts[name] = { source: `${path}: ${key}`, value: isScalar ? String(value) : JSON.stringify(value) }
  }
  return texts
}

function parseConfigFile(source: string, path: string, readFile: ReadFile): object {
  const json = readText(source, path, readFile)
  let content: unknown
  try {
    content = parseStrictJson(json)
  } catch (cause) {
    throw new RegistryError('CONFIG_ERROR', `${source}: ${path} is not valid JSON`, { cause })
  }
  if (typeof content === 'object' && content !== null && !Array.isArray(content)) return content
  throw new RegistryError('CONFIG_ERROR', `${source}: ${path} must contain a JSON object of settings`)
}

function readText(source: string, path: string, readFile: ReadFile): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFile(path))
  } catch (cause) {
    const reason = errnoOf(cause) ?? 'not UTF-8'
    throw new RegistryError('CONFIG_ERROR', `${source}: the file ${path} cannot be read (${reason})`, { cause })
  }
}
