import { writeSync } from 'node:fs'
import { pino, type DestinationStream, type Logger } from 'pino'
import type { Logger as RegistryLogger } from '../../core/index.ts'
import type { Config } from '../settings/load.ts'

/** Creates the log on stdout: readable lines on a terminal, else JSON. */
export function createLogger(level: Config['logLevel']): Logger {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime }
  if (!process.stdout.isTTY) return pino(options, oncePerTurn(logDestination(STDOUT)))
  return pino(options, { write: (line: string) => void process.stdout.write(readableLine(line)) })
}

const [STDOUT, STDERR] = [1, 2]
/** Bytes of lines that wait until they can be written. Later ones are lost. */
const MAX_WAITING_BYTES = 64 * 1024

/**
 * Writes lines to a file descriptor. If that fails, because its disk is full for example, the server goes on: lines
 * wait, and are written with a later one. The error is shown once on stderr. Without this it would end the process.
 */
export function logDestination(fd: number, showError = writeToStderr): DestinationStream {
  const destination = pino.destination({ dest: fd, sync: true, maxLength: MAX_WAITING_BYTES })
  let isFailing = false
  destination.on('write', () => (isFailing = false))
  destination.on('error', (error: Error) => {
    if (!isFailing)
      showError(`evidence-registry: the log cannot be written: ${error.message}. Free space on its disk\n`)
    isFailing = true
  })
  // A line is dropped if too many bytes wait. The empty one makes pino try to write those again. `flushSync` would try
  // for ever, and block the process.
  destination.on('drop', () => void destination.write(''))
  return destination
}

/** More lines are written before the turn ends. */
const MAX_COLLECTED_CHARS = 16 * 1024

/** Writes the lines of one turn of the event loop together: a system call for each would take longer than the line. */
export function oncePerTurn(destination: DestinationStream): DestinationStream {
  let lines = ''
  const flush = (): void => {
    const collected = lines
    lines = ''
    if (collected !== '') destination.write(collected)
  }
  process.on('exit', flush)
  return {
    write(line: string) {
      if (lines === '') setImmediate(flush)
      lines += line
      if (lines.length >= MAX_COLLECTED_CHARS) flush()
    },
  }
}

function writeToStderr(text: string): void {
  try {
    writeSync(STDERR, text)
  } catch {
    // stderr may be the same file.
  }
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
