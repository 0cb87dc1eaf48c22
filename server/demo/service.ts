import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The real server, as a process of its own. */
export interface Service {
  readonly baseUrl: string
  readonly operatorKey: string
  stop(): Promise<void>
}

const START_MS = 30_000
const STOP_MS = 60_000
const LAST_LINES = 20

/** Starts the server with its data in `dataDir` on a free port of this machine, and waits for its ready line. */
export async function startService(dataDir: string, signal: AbortSignal): Promise<Service> {
  const operatorKey = randomBytes(32).toString('base64url')
  // Under tsx there is no main.js: a child runs as its parent does.
  const isBuilt = import.meta.url.endsWith('.js')
  const main = fileURLToPath(new URL(isBuilt ? '../main.js' : '../main.ts', import.meta.url))
  const child = spawn(process.execPath, [...(isBuilt ? [] : process.execArgv), main], {
    env: {
      ...withoutSettings(),
      EVIDENCE_PORT: '0',
      EVIDENCE_DATA_DIR: dataDir,
      EVIDENCE_OPERATOR_KEY: operatorKey,
      EVIDENCE_SEAL_MAX_WAIT_MS: '1000',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const keep = (line: string): void => {
    lines.push(line)
    if (lines.length > LAST_LINES) lines.shift()
  }
  createInterface({ input: child.stderr }).on('line', keep)
  try {
    const url = await readyUrl(child, keep, signal)
    return { baseUrl: `${url}/api/v1`, operatorKey, stop: () => stop(child) }
  } catch (error) {
    await stop(child)
    signal.throwIfAborted()
    throw new Error(`The server did not start. Its last lines:\n${lines.join('\n')}`, { cause: error })
  }
}

/** The user's own settings are not the demo's. */
const withoutSettings = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('EVIDENCE_')))

function readyUrl(child: ChildProcess, keep: (line: string) => void, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    const timer = setTimeout(() => reject(new Error(`Not ready after ${START_MS} ms`)), START_MS)
    child.once('error', reject)
    child.once('exit', (code, killedBy) => {
      clearTimeout(timer)
      reject(new Error(`It ended with ${killedBy ?? code}`))
    })
    // Read on after the ready line too: a full pipe would stop the server.
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      keep(line)
      const url = urlIn(line)
      if (url === undefined) return
      clearTimeout(timer)
      resolve(url)
    })
  })
}

function urlIn(line: string): string | undefined {
  try {
    const { url, msg } = JSON.parse(line) as { readonly url?: unknown; readonly msg?: unknown }
    return msg === 'ready' && typeof url === 'string' ? url : undefined
  } catch {
    return undefined
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(timer)
}
