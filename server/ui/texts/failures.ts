export const failure = {
  network: 'The server cannot be reached. Check the connection, then try again.',
  responseLost:
    'The server cannot be reached, or its response was lost. Try again without a change: what it has recorded ' +
    'already is not recorded twice.',
  notLoaded: 'This part of the page cannot be loaded. Check the connection, then try again or reload the page.',
  unavailable: 'The registry cannot do this at the moment. Try again later; if it stays so, tell its operator.',
  refused: (code: string) => `The registry did not accept this (${code}).`,
  unknown: 'Something went wrong in this page:',
  /** By the code of the error, else by its HTTP status. */
  codes: {
    '400': 'The registry does not accept this, or nothing would change.',
    '401': 'Your API key is wrong, expired or deactivated. Sign in again with another key.',
    '403': 'Your API key may not do this. Ask an administrator for one that may.',
    '404': 'There is nothing with this id, or it was deleted.',
    '413': 'This is more than the registry accepts at once.',
    '429': 'Too many requests. Wait a minute, then try again.',
    EXTERNAL_ID_EXISTS: 'Another record has this external id',
    NAME_EXISTS: 'This name is taken: choose another',
    CATEGORY_INACTIVE: 'This category, or its subcategory, is inactive: choose another',
    CATEGORY_NOT_EMPTY: 'Only a category without records and subcategories can be removed.',
    TOO_MANY_SHARES: 'It has as many open links as it can have: end some first.',
    VERSION_CONFLICT: 'This record was changed after you opened it. Your text is kept.',
  },
} as const

/** What is wrong with a field, by its name in the API. */
export const problems = {
  blank: 'Enter a value',
  missing: {
    name: 'Enter a name',
    owner: 'Enter the new owner',
    externalId: 'Enter an external id',
    categoryName: 'Enter or choose a category',
    subcategoryName: 'Enter or choose a subcategory',
    apiKey: 'Enter the API key',
    updateActionDescription: 'Say in a few words what happened',
  },
  tooLong: (length: number, max: number) =>
    `At most ${max.toLocaleString()} characters; these are ${length.toLocaleString()}`,
  refused: (field: string) => `“${field}” has a value that is not accepted, such as a control character or a /`,
  invalid: {
    COMPANY_ID: 'The address names no company',
    companyId: 'A company id has only letters, digits, dots, hyphens and underscores',
    externalId: 'An external id cannot be . or .., nor have control characters',
    meta: 'Enter a JSON object, such as {"color": "red"}, of at most 64 KiB and 32 levels',
    apiKey: 'A key has only letters, digits and signs without accents',
    expiresAt: 'Choose a time in the future',
  },
  takenBy: (name: string) => `This external id is taken by ${name}`,
} as const
