import { pino, type Logger } from 'pino'
import type { Logger as RegistryLogger } from '../../core/index.ts'
import type { Config } from '../settings/load.ts'

/** Creates the log on stdout: readable lines on a terminal, else JSON. */
export function createLogger(level: Config['logLevel']): Logger {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime }
  if (!process.stdout.isTTY) return pino(options)
  return pino(options, { write: (line: string) => void process.stdout.write(readableLine(line)) })
}

const LEVELS: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'WARN', 50: 'ERROR', 60: 'FATAL' }

/** Converts a JSON line of pino to `15:04:05 info  message  name=value …`, with the stack of an error below. */
export function readableLine(line: string): string {
  const { level, time, msg, err, ...fields }: PinoLine = JSON.parse(line)
  const clock = new Date(time).toTimeString().slice(0, 8)
  const values = Object.entries(fields).map(([name, value]) => `  ${name}=${valueText(value)}`)
  const stack = err?.stack === undefined ? '' : `\n${err.stack.replaceAll(/^/gm, '    ')}`
  return `${clock} ${(LEVELS[level] ?? String(level)).padEnd(5)} ${msg ?? ''}${values.join('')}${stack}\n`
}

interface PinoLine extends Readonly<Record<string, unknown>> {
  readonly level: number
  readonly time: string
  readonly msg?: string
  readonly err?: { readonly stack?: string }
}

/** Quotes what would not be read as one value. */
const valueText = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)

/** For commands, which have no log: warnings and errors on stderr. */
export const stderrLogger: RegistryLogger = {
  debug() {},
  info() {},
  warn: (fields, message) => void process.stderr.write(`${message} ${JSON.stringify(fields)}\n`),
  error: (_, message) => void process.stderr.write(`${message}\n`),
}
