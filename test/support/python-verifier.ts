import { spawn, spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'

/** The verifier in Python: a second implementation, made from the specification alone. */
const SCRIPT = resolve('test/services/independent/verify.py')
/** The program itself, because `python3` can be a script that looks for it, which takes longer than most runs. */
const found = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' })
export const python = found.status === 0 ? found.stdout.trim() : ''
const hasTools = python !== '' && spawnSync('openssl', ['version']).status === 0
/** Why the tests of the verifier in Python are skipped, or `false`. */
export const skipPython = hasTools ? false : 'python3 and openssl are needed'

export interface PythonRun {
  readonly code: number | null
  readonly stdout: string
}

/**
 * Imports the verifier, then runs it once for each line, which is a JSON array of arguments, and prints the outcome. A
 * run is a fork, which shares nothing with other runs, and needs a third of the CPU time of a process that starts.
 */
const FORKS = `
import importlib.util, json, os, sys
verify = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location("verify", sys.argv[1]))
spec.loader.exec_module(verify)
for line in sys.stdin:
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.dup2(write, 1)
        sys.argv[1:] = json.loads(line)
        os._exit(verify.main())
    os.close(write)
    stdout = open(read, encoding="utf-8").read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps({"code": code, "stdout": stdout}), flush=True)
`

/** Compiles the verifier into a directory, for a suite. Returns its path, and how to run it. */
export function compilePythonVerifier(directory: string) {
  const compiled = join(directory, 'verify.pyc')
  const program = `import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)`
  const { status, stderr } = spawnSync(python, ['-c', program, SCRIPT, compiled], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`verify.py cannot be compiled: ${stderr}`)
  const forks = spawn(python, ['-c', FORKS, compiled], { stdio: ['pipe', 'pipe', 'inherit'] })
  after(() => forks.stdin.end())
  const outcomes = createInterface(forks.stdout)[Symbol.asyncIterator]()
  async function run(args: readonly string[]): Promise<PythonRun> {
    forks.stdin.write(`${JSON.stringify(args)}\n`)
    return JSON.parse((await outcomes.next()).value) as PythonRun
  }
  /** Runs it in a process of its own, which begins with this environment. */
  async function runIn(env: NodeJS.ProcessEnv, args: readonly string[]): Promise<PythonRun> {
    const options = { env: { ...process.env, ...env }, encoding: 'utf8' } as const
    const { status: code, stdout } = spawnSync(python, [compiled, ...args], options)
    return { code, stdout }
  }
  return { compiled, run, runIn }
}
