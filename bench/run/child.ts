import { spawn, type ChildProcess } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A module of bench/, by its path from there, in a process of its own, from source or from the build as we are. Its stdout is a pipe, or goes to a file. */
export function startChild(
  module: string,
  args: readonly string[],
  {
    env = {},
    stdout = 'pipe',
  }: { readonly env?: Readonly<Record<string, string>>; readonly stdout?: 'pipe' | number } = {},
) {
  const isSource = import.meta.url.endsWith('.ts')
  const path = fileURLToPath(new URL(`../${isSource ? module : module.replace(/\.ts$/, '.js')}`, import.meta.url))
  return spawn(process.execPath, [...(isSource ? ['--import', 'tsx'] : []), path, ...args], {
    stdio: ['ignore', stdout, 'inherit'],
    // eslint-disable-next-line node/no-process-env -- handed on
    env: { ...process.env, ...env },
  })
}

/** Runs a module to its end; answers the JSON that it wrote to stdout. Throws where it failed or took longer than `timeoutMs`. */
export async function runChild<T>(module: string, args: readonly string[], timeoutMs = 600_000): Promise<T> {
  const child = startChild(module, args)
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  let out = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  if (code !== 0) throw new Error(`${module} ${args.join(' ')} ended with ${code ?? 'a signal'}`)
  return JSON.parse(out) as T
}

/** The first match of a pattern in what the child writes to this file. Throws where it ends without it. */
export async function saidIn(path: string, child: ChildProcess, pattern: RegExp): Promise<string> {
  for (;;) {
    const [, found] = pattern.exec(await readFile(path, 'utf8')) ?? []
    if (found !== undefined) return found
    if (child.exitCode !== null) throw new Error(`the child ended with ${child.exitCode}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/**
 * A process that says its address, and that address. Its stdout is a file in the directory: through a pipe, a server that logs would
 * wait for the one that asks it.
 */
export async function startListening(
  directory: string,
  module: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const path = join(directory, `${module.replaceAll(/[^a-z]/g, '')}.log`)
  const file = await open(path, 'w')
  const child = startChild(module, args, { env, stdout: file.fd })
  await file.close()
  return { child, url: await saidIn(path, child, /"url":"(http[^"]+)"/) }
}

export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const closed = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGTERM')
  await closed
}
