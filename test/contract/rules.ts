import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

/** The names of a port's methods, except `close`. */
type Methods<Port> = {
  [Name in keyof Port]-?: Name extends 'close' | 'isPoisoned'
    ? never
    : Port[Name] extends (...args: never[]) => unknown
      ? Name
      : never
}[keyof Port]

/** A call of each method. A method of the port that is not listed does not compile. */
export type CallsOf<Port> = Readonly<Record<Methods<Port>, () => Promise<unknown>>>

/** Tests what holds for every port: after `close` each call throws `CLOSED`, except `close` itself. */
export async function assertClosed<Port extends { close(): Promise<void> }>(
  port: Port,
  calls: CallsOf<Port>,
): Promise<void> {
  const entries: readonly (readonly [string, () => Promise<unknown>])[] = Object.entries(calls)
  for (const [name, call] of entries) await assert.rejects(call, { code: 'CLOSED' }, `${name} after close`)
  await port.close()
}

/** Registers a test that has a subject of its own. */
export type TestOf<Subject> = (name: string, run: (subject: Subject, t: TestContext) => Promise<void>) => void

/**
 * Tests of what `open` opens for each of them: an object with this member. `close` is called after each test, also
 * after one that failed.
 */
export const testsOf =
  <Subject extends object>(
    open: () => Promise<Subject>,
    member: keyof Subject & string,
    close: (subject: Subject) => Promise<void>,
  ): TestOf<Subject> =>
  (name, run) =>
    void test(name, async (t) => {
      const subject = await open()
      assert.ok(subject?.[member], `\`open\` must resolve to an object with the member \`${member}\``)
      t.after(() => close(subject))
      await run(subject, t)
    })

/** Skips a test of what an adapter does not offer. The reason is printed, so that it is not taken for a passed test. */
export const notOffered = (t: TestContext, what: string): void => t.skip(`not offered: ${what}`)
