/** Never finishes to load, as a module that waits for something that never comes. */
await new Promise(() => undefined)

export const tiles = (): void => undefined
